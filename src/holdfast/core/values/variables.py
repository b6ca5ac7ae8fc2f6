"""The variables of a job: what they may be, and how they are stored."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from holdfast.core.rules import limits
from holdfast.core.rules.value_rules import VARIABLES


def check_variables(what: str, value: object) -> dict[str, str]:
    """Check variables: text by name."""
    found = VARIABLES.check(what, value)
    check_size(what, found)
    return found


def check_size(what: str, variables: Mapping[str, str]) -> None:
    """Refuse variables that are larger than a payload may be."""
    limits.check_payload(msgspec.json.encode(variables), what)


def to_column(variables: Mapping[str, str] | None) -> str | None:
    """The variables as JSON. Without any, nothing is stored."""
    return msgspec.json.encode(variables).decode() if variables else None


def from_column(text: str | None) -> dict[str, str] | None:
    """The variables in a column."""
    return None if text is None else msgspec.json.decode(text, type=dict[str, str])
