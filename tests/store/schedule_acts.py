"""What tests of schedules do, each in one short call."""

from __future__ import annotations

from typing import Any

from holdfast.core.messages.schedules import NewSchedule, Schedule
from holdfast.core.messages.templates import NewTemplate
from holdfast.store.engine import Engine
from holdfast.store.scripts.events.events import list_events
from holdfast.store.scripts.schedules.firing import Fired, fire_due
from holdfast.store.scripts.schedules.schedules import find_schedule, put_schedule
from holdfast.store.scripts.schedules.templates import put_template
from tests.store.acts import NOW, put_one, select, write

MINUTE = 60_000
FIRST = NOW + 40_000  # the first whole minute after NOW
YEAR = 365 * 86_400_000


def template(engine: Engine, name: str = "clean", **fields: Any) -> None:
    """A template, or another version of it."""
    write(engine, put_template, NewTemplate(id=f"t-{name}", name=name, **{"task": "t"} | fields), NOW)


def put(engine: Engine, name: str = "nightly", **fields: Any) -> Schedule:
    """A schedule that fires every minute; its template is there already, or is made now."""
    if not select(engine, "SELECT id FROM job_templates"):
        template(engine)
    wanted = NewSchedule(**{"id": f"s-{name}", "name": name, "template": "clean", "cron": "* * * * *"} | fields)
    return write(engine, put_schedule, wanted, NOW)


def fire(engine: Engine, now: int, limit: int = 50) -> Fired:
    """Settle what has come."""
    return write(engine, fire_due, now, limit)


def find(engine: Engine, name: str = "nightly") -> Schedule:
    """The schedule as it stands."""
    return engine.query(find_schedule, name)


def jobs(engine: Engine) -> list[dict[str, Any]]:
    """Every job that a schedule made, oldest first."""
    return select(engine, "SELECT * FROM jobs WHERE schedule_id IS NOT NULL ORDER BY number")


def ticks(engine: Engine) -> list[int]:
    """The ticks that fired, in minutes after the first."""
    return [(row["fire_time"] - FIRST) // MINUTE for row in jobs(engine)]


def skips(engine: Engine) -> dict[str, int]:
    """How many ticks did not fire, by the reason."""
    return {skip.reason: skip.ticks for skip in find(engine).skips}


def hear(engine: Engine, pattern: str) -> None:
    """Somebody waits for such events."""
    put_one(engine, f"waits for {pattern}", wait_for_event=pattern, task="listen")


def heard(engine: Engine) -> list[tuple[str, dict[str, str]]]:
    """Every event that was stored, oldest first."""
    return [(view.event.name, view.event.attributes) for view in reversed(engine.query(list_events).events)]
