"""The stored signature of a script, for callers that do not import the script."""

from __future__ import annotations

from importlib import import_module
from typing import Any, NamedTuple


class Signature(NamedTuple):
    """The names of the arguments, without the transaction, and the type of the answer as text."""

    names: str
    returns: str
    is_urgent: bool = False


def kind_of(text: str) -> Any:
    """The type that `text` names: `None`, `builtins.int`, `list[holdfast.core.job.Job]`."""
    if text == "None":
        return type(None)
    if text.startswith("list["):
        return list[kind_of(text[5:-1])]  # type: ignore[misc]
    module, _, name = text.rpartition(".")
    return getattr(import_module(module), name)
