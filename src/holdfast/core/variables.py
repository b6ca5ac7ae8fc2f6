"""The variables of a job: what they may be, and how they are stored."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from holdfast.core.errors import InvalidInput
from holdfast.core.limits import MOST_VARIABLES, check_payload, shown
from holdfast.core.rule import VARIABLE, VARIABLES


def check_variables(what: str, value: object) -> dict[str, str]:
    """Check variables: text by name. Messages show only names, as a value may be a secret."""
    if not isinstance(value, Mapping):
        raise InvalidInput(f"{what} is not valid: give a dictionary of text by name")
    if len(value) > MOST_VARIABLES:
        raise InvalidInput(f"{what} has {len(value)} variables; give at most {MOST_VARIABLES}")
    for name, text in value.items():
        if not isinstance(name, str) or not isinstance(text, str):
            raise InvalidInput(
                f"environment variable {shown(name)} is a {type(text).__name__}: names and values are text"
            )
        if not VARIABLE.allows(name):
            raise InvalidInput(f"{shown(name)} cannot name an environment variable: use {VARIABLE.says}")
        if not VARIABLES.allows(text):
            raise InvalidInput(
                f"environment variable {shown(name)} cannot have its value: it is too long, or holds a NUL or half a "
                "character, which no program can be given"
            )
    found = dict(value)
    check_size(what, found)
    return found


def check_size(what: str, variables: Mapping[str, str]) -> None:
    """Refuse variables that are larger than a payload may be."""
    check_payload(msgspec.json.encode(variables), what)


def to_column(variables: Mapping[str, str] | None) -> str | None:
    """The variables as JSON. Without any, nothing is stored."""
    return msgspec.json.encode(variables).decode() if variables else None


def from_column(text: str | None) -> dict[str, str] | None:
    """The variables in a column."""
    return None if text is None else msgspec.json.decode(text, type=dict[str, str])
