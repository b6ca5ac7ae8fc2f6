"""The options of a job as columns of `jobs`, and back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from operator import attrgetter
from typing import Any, TypeVar

from msgspec import Struct

from holdfast.core.declared.option import JobOption, RetryKind
from holdfast.core.declared.option_fields import extended
from holdfast.core.declared.options import OPTIONS
from holdfast.core.jobs.requests import NewJob

S = TypeVar("S", bound=Struct)

STORED = tuple(option for option in OPTIONS.values() if option.columns)
# Their columns, which lists show only in part, by their names on the wire.
LONG = {option.wire: column for option in STORED if option.kind.is_long for column in option.columns}
# What a worker is told that claims a job. Long documents are read apart.
TOLD = tuple(option for option in STORED if option.told_to_worker)
ANSWERED = tuple(option for option in STORED if option.is_answered)

_VALUES = attrgetter(*(option.wire for option in STORED))
_PLACES = tuple((tuple(option.columns), option.kind.store) for option in STORED)


def kept_in(again: RetryKind) -> list[JobOption]:
    """The columns that a new job takes from the old one."""
    return [option for option in STORED if again in option.again]


def with_columns(kind: type[S]) -> type[S]:
    """A row that has the columns of every option."""
    return extended(kind, [(column, Any) for option in STORED for column in option.columns])


def with_long_columns(kind: type[S]) -> type[S]:
    """A row that has the size and the beginning of every option that may be long."""
    return extended(kind, [(f"{column}_{part}", Any) for column in LONG.values() for part in ("bytes", "head")])


def to_columns(job: NewJob, usual: Mapping[str, Any]) -> dict[str, Any]:
    """What a job asks for, column by column; `usual` has what it does not say."""
    row = dict(usual)
    for value, (columns, store) in zip(_VALUES(job), _PLACES, strict=True):
        if value is not None:
            row.update(_placed(value, columns, store))
    return row


def usual_columns(options: Mapping[str, Any]) -> dict[str, Any]:
    """What a job has that says nothing, in a queue that says these options, by name. None: it does not."""
    return _said_over(_NOTHING_SAID, options)


def _said_over(usual: Mapping[str, Any], options: Mapping[str, Any]) -> dict[str, Any]:
    row = dict(usual)
    for name, value in options.items():
        if value is not None:
            option = OPTIONS[name]
            row.update(_placed(value, tuple(option.columns), option.kind.store))
    return row


def _placed(value: Any, columns: tuple[str, ...], store: Callable[[Any], Any] | None) -> Iterable[tuple[str, Any]]:
    stored = value if store is None else store(value)
    return zip(columns, stored if len(columns) > 1 else (stored,), strict=True)


_EMPTY = dict.fromkeys(column for option in STORED for column in option.columns)
_NOTHING_SAID = _said_over(_EMPTY, {option.name: option.default for option in STORED})


class OptionReader:
    """Reads some of the options from the columns of a row, as they are sent."""

    def __init__(self, options: Iterable[JobOption]) -> None:
        self._options = [
            (option.wire, attrgetter(*option.columns), len(option.columns) > 1, option.default, option.kind.load)
            for option in options
        ]

    def read(self, row: Struct) -> dict[str, Any]:
        """The options by name. NULL stands for what is usual: older rows have it in a newer column."""
        found: dict[str, Any] = {}
        for name, column_of, is_several, default, load in self._options:
            value = column_of(row)
            if value is None or (is_several and None in value):
                value = default
            elif load is not None:
                value = load(value)
            found[name] = value
        return found


def with_told_columns(kind: type[S]) -> type[S]:
    """A row that has what a worker is told."""
    return extended(kind, [(column, Any) for option in TOLD for column in option.columns])


def stored_value(option: JobOption, value: Any) -> Any:
    """What the one column of an option holds for a value that was sent, to compare with. None stays None."""
    return value if value is None or option.kind.store is None else option.kind.store(value)
