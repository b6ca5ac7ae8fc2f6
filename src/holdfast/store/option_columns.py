"""The options of a job as columns of `jobs`, and back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from operator import attrgetter
from typing import Any, TypeVar

from msgspec import Struct

from holdfast.core.job import Millis
from holdfast.core.option import JobOption, RetryKind
from holdfast.core.option_kinds import RETRY
from holdfast.core.options import OPTIONS, extended
from holdfast.core.requests import NewJob
from holdfast.core.retry import RetryPolicy

S = TypeVar("S", bound=Struct)

STORED = tuple(option for option in OPTIONS.values() if option.columns)
ANSWERED = tuple(option for option in STORED if option.is_answered)

_VALUES = attrgetter(*(option.wire for option in STORED))
_PLACES = tuple((tuple(option.columns), option.kind.store) for option in STORED)
_POLICY_COLUMNS = tuple(RETRY.columns)


def kept_in(again: RetryKind) -> list[JobOption]:
    """The columns that a new job takes from the old one."""
    return [option for option in STORED if again in option.again]


def with_columns(kind: type[S]) -> type[S]:
    """A row that has the columns of every option."""
    return extended(kind, [(column, Any) for option in STORED for column in option.columns])


def to_columns(job: NewJob, usual: Mapping[str, Any]) -> dict[str, Any]:
    """What a job asks for, column by column; `usual` has what it does not say."""
    row = dict(usual)
    for value, (columns, store) in zip(_VALUES(job), _PLACES, strict=True):
        if value is not None:
            row.update(_placed(value, columns, store))
    return row


def usual_columns(policy: RetryPolicy, timeout_ms: Millis | None) -> dict[str, Any]:
    """What a job has that says nothing, in a queue with this policy and this time-out."""
    row = _NOTHING_SAID | {"timeout_ms": timeout_ms}
    row.update(_placed(policy, _POLICY_COLUMNS, RETRY.store))
    return row


def _placed(value: Any, columns: tuple[str, ...], store: Callable[[Any], Any] | None) -> Iterable[tuple[str, Any]]:
    stored = value if store is None else store(value)
    return zip(columns, stored if len(columns) > 1 else (stored,), strict=True)


_NOTHING_SAID: dict[str, Any] = {column: None for option in STORED for column in option.columns}
for _option in STORED:
    if _option.default is not None:
        _NOTHING_SAID.update(_placed(_option.default, tuple(_option.columns), _option.kind.store))


def from_columns(row: Struct, options: Iterable[JobOption]) -> dict[str, Any]:
    """The options in a row, as they travel. NULL stands for what is usual: older rows have it in a newer column."""
    found: dict[str, Any] = {}
    for option in options:
        values = tuple(getattr(row, column) for column in option.columns)
        if None in values:
            found[option.wire] = option.default
        else:
            value = values if len(values) > 1 else values[0]
            found[option.wire] = value if option.kind.load is None else option.kind.load(value)
    return found


def stored_value(option: JobOption, value: Any) -> Any:
    """What the one column of an option holds for a value that was sent, to compare with. None stays None."""
    return value if value is None or option.kind.store is None else option.kind.store(value)
