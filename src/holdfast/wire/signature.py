"""The stored signature of a script, for callers that do not import the script."""

from __future__ import annotations

from importlib import import_module
from typing import Any, NamedTuple

from holdfast.core.declared.options import FILTERS


class Signature(NamedTuple):
    """The names of the arguments, without the transaction, and the type of the answer as text.

    `has_filters`: after these names come those of the options that lists can be filtered by.
    """

    names: str
    returns: str
    is_urgent: bool = False
    has_filters: bool = False

    @property
    def arguments(self) -> list[str]:
        """The names of all arguments."""
        return [*self.names.split(), *(option.wire for option in FILTERS if self.has_filters)]


def kind_of(text: str) -> Any:
    """The type that `text` names: `None`, `builtins.int`, `list[holdfast.core.job.Job]`."""
    if text == "None":
        return type(None)
    if text.startswith("list["):
        return list[kind_of(text[5:-1])]  # type: ignore[misc]
    module, _, name = text.rpartition(".")
    return getattr(import_module(module), name)
