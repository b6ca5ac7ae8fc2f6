"""Fields that exclude each other, and fields that mean nothing without another. All interfaces use this table.

The fields are named as on the wire. The SDK, the command line and HTTP each give their own words for them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from msgspec import Struct

from holdfast.core.errors import InvalidInput
from holdfast.core.rules import limits


class Excludes(Struct, frozen=True):
    """Only one of the two may be given."""

    field: str
    other: str


class Requires(Struct, frozen=True):
    """The field means nothing without the other one."""

    field: str
    other: str


JOB: tuple[Excludes | Requires, ...] = (
    Excludes("delay_ms", "due"),
    Requires("generation", "subject"),
    Requires("event_attributes", "wait_for_event"),
)
# A template may give these too, to its jobs and its schedules.
OF_TEMPLATES = ("subject", "wait_for_event")
RATE = (Requires("rate_limit", "rate_window_ms"), Requires("rate_window_ms", "rate_limit"))
LOG = (Excludes("tail", "lines"),)


def check_pairs(
    pairs: Collection[Excludes | Requires],
    value_of: Callable[[str], Any],
    word_of: Callable[[str], str] = str,
    *,
    elsewhere: Collection[str] = (),
) -> None:
    """Refuse values that do not go together, with the caller's words for the fields.

    `value_of` gives the value of a field. None and an empty value count as not given. A field that may be given
    `elsewhere` too is not missed here.
    """
    for pair in pairs:
        value, other = value_of(pair.field), value_of(pair.other)
        if not _is_given(value):
            continue
        word, other_word = word_of(pair.field), word_of(pair.other)
        match pair:
            case Excludes() if _is_given(other):
                raise InvalidInput(f"{word} and {other_word} exclude each other: give one of them")
            case Requires() if not _is_given(other) and pair.other not in elsewhere:
                raise InvalidInput(
                    f"{word} {limits.shown(value)} means nothing without {other_word}: give that as well"
                )


def _is_given(value: object) -> bool:
    return value is not None and value != {}
