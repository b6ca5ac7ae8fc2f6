"""Schedules: cron expressions that make jobs from templates."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from holdfast.core.job import Millis
from holdfast.core.messages.templates import NewTemplate
from holdfast.core.schedules.cron import UTC
from holdfast.core.schedules.schedule import Misfire, Overlap
from holdfast.core.tasks.task import ScheduleOptions


class Origin(StrEnum):
    """Who made a schedule: a caller of the API, or the code of a program."""

    API = "api"
    CODE = "code"


class Skips(Struct, frozen=True):
    """Ticks that did not fire for one reason: how many, and the newest. Of a long absence only a part is counted."""

    reason: str
    ticks: int
    last_fire_time: Millis


class NewSchedule(Struct, frozen=True, kw_only=True):
    """A schedule to be stored: when to make which jobs. `payload` and `options` are laid over those of the template.

    `owner` names the program whose code declares it.
    """

    id: str
    name: str
    template: str
    cron: str
    timezone: str = UTC
    payload: str = "{}"
    options: ScheduleOptions = ScheduleOptions()
    misfire: Misfire = Misfire.LATEST
    overlap: Overlap = Overlap.SKIP
    jitter_ms: Millis = 0
    origin: Origin = Origin.API
    owner: str | None = None


class Schedule(Struct, frozen=True, kw_only=True):
    """A schedule as it stands in the store. `words` says what its cron expression means.

    `known` is false where no worker has declared the task of its template lately.
    """

    id: str
    name: str
    template: str
    template_id: str
    cron: str
    timezone: str
    words: str
    payload: str
    options: ScheduleOptions
    misfire: Misfire
    overlap: Overlap
    jitter_ms: Millis
    enabled: bool
    disabled_reason: str | None
    settled_until: Millis
    next_fire: Millis | None
    last_triggered_at: Millis | None
    fires: int
    skips: list[Skips]
    origin: Origin
    owner: str | None
    created_at: Millis
    updated_at: Millis
    known: bool = True


class ScheduleChanges(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is to be different about a schedule; None leaves it as it is."""

    name: str | None = None
    template: str | None = None
    cron: str | None = None
    timezone: str | None = None
    payload: str | None = None
    options: ScheduleOptions | None = None
    misfire: Misfire | None = None
    overlap: Overlap | None = None
    jitter_ms: Millis | None = None


class Preview(Struct, frozen=True):
    """What a cron expression means, and its next ticks."""

    words: str
    fires: list[Millis]


class DeclaredSchedule(Struct, frozen=True, kw_only=True):
    """A schedule in the code of a program, with the template that it makes its jobs from."""

    template: NewTemplate
    schedule: NewSchedule


class Declared(Struct, frozen=True):
    """The schedules that were stored or brought up to date, those that were disabled, and what could not be stored."""

    stored: list[str]
    disabled: list[str]
    troubles: list[str]
