"""What a job waits for."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from holdfast.core.job import JobId, Millis


class ConditionKind(StrEnum):
    """What has to come true: a moment, an event, something about another job or about the machine."""

    TIME = "time"
    EVENT = "event"
    AFTER = "after"
    AFTER_ENDED = "after ended"
    TURN = "turn"
    IDLE = "idle"
    CHARGING = "charging"


class Condition(Struct, frozen=True, kw_only=True):
    """One thing that a job waits for. `at`: the moment it waits for; `job_id`: the job it comes after.

    `met_at` is when it came true. It is not stored for an idle or charging machine, which holds only for a moment.
    """

    kind: ConditionKind
    is_met: bool
    met_at: Millis | None = None
    at: Millis | None = None
    job_id: JobId | None = None
    event: str | None = None
    attributes: dict[str, str] = {}
    event_id: str | None = None
    event_name: str | None = None
