"""How a program says which jobs it means."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from functools import partial
from typing import Any, Protocol, TypedDict

from holdfast.core.declared import option_kinds
from holdfast.core.declared.option_kinds import HasId
from holdfast.core.declared.options import FILTERS
from holdfast.core.errors import InvalidInput
from holdfast.core.job import StateName
from holdfast.core.jobs.requests import JobFilter
from holdfast.core.rules import rule
from holdfast.core.rules.value_rules import FLAG, MOMENT
from holdfast.core.settings import rule_table
from holdfast.core.settings.rule_table import RULES


class HasName(Protocol):
    """A task: anything with the name of one."""

    @property
    def name(self) -> str: ...


class JobFilters(TypedDict, total=False):
    """Which jobs a list or a bulk action means: those to which all of it applies. None leaves a filter out.

    `state` is one state or several. `without_system` leaves out the daemon's own jobs.
    """

    state: str | Iterable[str] | None
    queue: str | None
    task: HasName | str | None
    tag: str | None
    tenant: str | None
    group: HasId | str | None
    schedule: HasId | str | None
    subject_prefix: str | None
    created_after: datetime | None
    error_text: str | None
    without_system: bool | None


def make_filter(filters: Mapping[str, Any]) -> JobFilter:
    """The filter of these words. None leaves a field open."""
    fields: dict[str, Any] = {}
    for name, value in filters.items():
        if name not in READ:
            raise InvalidInput(f"{name!r} is not a filter; use {', '.join(READ)}")
        if value is not None:
            field, read = READ[name]
            fields[field] = read(value)
    return JobFilter(**fields)


def _states(value: Any) -> tuple[StateName, ...]:
    names = [value] if isinstance(value, str) or not isinstance(value, Iterable) else list(value)
    return tuple(map(StateName, rule.check_all(RULES["state"], "state", names)))


def _task_name(value: Any) -> str:
    name: str = rule_table.check("task", getattr(value, "name", value))
    return name


# By its name in programs: its field, and how its value is read.
READ: Mapping[str, tuple[str, Callable[[Any], Any]]] = {
    "state": ("states", _states),
    **{option.name: (option.wire, partial(option.kind.check, option.name)) for option in FILTERS},
    "task": ("task", _task_name),
    "schedule": ("schedule_id", option_kinds.id_of),
    "subject_prefix": ("subject_prefix", partial(rule_table.check, "subject_prefix")),
    "created_after": ("created_after", partial(MOMENT.millis, "created_after")),
    "error_text": ("error_text", partial(rule_table.check, "error_text")),
    "without_system": ("without_system", partial(FLAG.check, "without_system")),
}
