"""Subjects and generations: which of several requests about the same thing runs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, TypeAlias

import msgspec
from msgspec import Struct

from holdfast.core.errors import InvalidInput
from holdfast.core.rules import limits
from holdfast.core.rules.value_rules import SUBJECT
from holdfast.core.values.filling import MARK, PREVIOUS

DEFAULT_TENANT = "default"

# `{name}`, a doubled brace, or a single brace.
FIELD = re.compile(r"\{(\w+)\}|\{\{|\}\}|[{}]")


class Newest(Struct, frozen=True):
    """It is the newest generation: every waiting job of the subject gives way to it."""

    generation: int


class Same(Struct, frozen=True):
    """That generation was asked for before: the earlier request stands for this one."""

    generation: int


class Stale(Struct, frozen=True):
    """A newer generation is known: it is stored as superseded at once."""

    generation: int
    newest: int


Arrival: TypeAlias = Newest | Same | Stale


def arrive(asked: int | None, newest: int | None) -> Arrival:
    """What a request for generation `asked` (None: the next one) means, given the newest known one."""
    if asked is None:
        return Newest((newest or 0) + 1)
    if newest is None or asked > newest:
        return Newest(asked)
    if asked == newest:
        return Same(asked)
    return Stale(asked, newest)


def tenant_of(subject: str | None) -> str:
    """`client::repo` of a three-part subject, otherwise the default tenant."""
    if subject is None:
        return DEFAULT_TENANT
    client, _, rest = subject.partition("::")
    repo, separator, _ = rest.partition("::")
    return f"{client}::{repo}" if client and repo and separator else DEFAULT_TENANT


def fill(pattern: str, arguments: Mapping[str, Any]) -> str:
    """A subject like `editor::{repo}`, with each `{name}` replaced by the argument in the payload."""

    def replace(match: re.Match[str]) -> str:
        name = match.group(1)
        if name is None:
            return match.group()[0]
        if name not in arguments:
            raise unknown_field(pattern, name)
        if arguments[name] is PREVIOUS or arguments[name] == MARK:
            raise InvalidInput(f"subject {limits.shown(pattern)} names {name!r}, which is PREVIOUS and not known yet")
        return str(as_json(arguments[name]))

    return FIELD.sub(replace, pattern)


def as_json(value: Any) -> Any:
    """A value as it is in a payload."""
    return msgspec.to_builtins(value, enc_hook=str)


def fields_of(pattern: str) -> list[str]:
    """The arguments that a subject names."""
    return [name for name in FIELD.findall(pattern) if name]


def unknown_field(pattern: str, name: str) -> InvalidInput:
    """The error that a subject names what is no argument."""
    return InvalidInput(f"subject {limits.shown(pattern)} names {name!r}, which is not an argument of the task")


def check_pattern_of_subject(what: str, value: object) -> str:
    """A subject that may name arguments in braces."""
    if not isinstance(value, str):
        raise SUBJECT.refusal(what, value)
    if any(match.group() in ("{", "}") for match in FIELD.finditer(value)):
        raise InvalidInput(
            f"{what} {limits.shown(value)} has a brace that names no argument: write {{name}}, or "
            f"{{{{ and }}}} for a brace"
        )
    return value
