"""Events, and what they triggered."""

from __future__ import annotations

from msgspec import Struct

from holdfast.core.job import JobId
from holdfast.core.values.event import Event

MOST_COUNTED = 1_000  # waiting jobs


class Triggered(Struct, frozen=True):
    """A job that an event let go."""

    job_id: JobId
    number: int
    state: str


class Told(Triggered, frozen=True):
    """The job that tells a webhook about an event."""

    webhook: str


class EventView(Struct, frozen=True):
    """An event, the jobs that it let go and those that tell webhooks; `more`: only the first of them are here."""

    event: Event
    jobs: list[Triggered]
    deliveries: list[Told]
    more: bool = False


class EventPage(Struct, frozen=True):
    """Some events, newest first, and the cursor of the next page if there is one."""

    events: list[EventView]
    cursor: str | None


class Emitted(Event, frozen=True, kw_only=True):
    """An event that has just been stored, how many jobs were waiting for it, as far as they were counted, how many
    webhooks are told, and how many apps listen to it."""

    waiting: int = 0
    webhooks: int = 0
    apps: int = 0
