"""What a program declares of its tasks, read from their functions and options."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from msgspec import structs

from holdfast.client.options import checked
from holdfast.core.declared.options import JobOptions
from holdfast.core.errors import InvalidInput
from holdfast.core.rules.limits import MAX_DOC, MAX_NAME
from holdfast.core.tasks.task import DeclaredTask, TaskOptions
from holdfast.core.values.subject import fields_of
from holdfast.tasks.schema import PayloadSchema


def declare(name: str, function: Callable[..., Any], schema: PayloadSchema, options: JobOptions) -> DeclaredTask:
    """The task as its workers declare it."""
    fields = {field: value for field, value in checked(options).items() if field in TaskOptions.__struct_fields__}
    subject_fields = fields_of(fields.get("subject", ""))
    declared = DeclaredTask(
        name=name,
        options=TaskOptions(**fields),
        arguments=schema.describe(with_defaults_of=subject_fields),
        source=_source(function),
        doc=_printable((inspect.getdoc(function) or "").partition("\n")[0], MAX_DOC),
    )
    try:
        declared.schema  # noqa: B018  # it is made to see whether it can be kept
    except InvalidInput:
        # For a very big schema the names are enough.
        bare = {**declared.arguments, "properties": {name: {} for name in declared.arguments["properties"]}}
        bare.pop("$defs", None)
        return structs.replace(declared, arguments=bare)
    return declared


def _source(function: Callable[..., Any]) -> str | None:
    inner = inspect.unwrap(function)
    line = getattr(getattr(inner, "__code__", None), "co_firstlineno", None)
    module = getattr(inner, "__module__", None)
    return None if module is None or line is None else _printable(f"{module}:{line}", MAX_NAME)


def _printable(text: str, longest: int) -> str | None:
    told = "".join(letter if letter.isprintable() else "?" for letter in text)
    return (told if len(told) <= longest else f"{told[: longest - 1]}…") or None
