"""Two daemons on one PostgreSQL database fire the same schedules, and every tick still fires once."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import uuid4

from tests.chaos.processes import until
from tests.daemon.house import House, two_houses


def put_schedule(house: House) -> None:
    """Every second. Over HTTP, as any program would."""
    template = {"id": str(uuid4()), "name": "plain", "task": "plain", "payload": {"n": 1}}
    assert house.ask("POST", "/v1/templates", {"template": template})[0] == 201
    schedule = {"id": str(uuid4()), "name": "often", "template": "plain", "cron": "* * * * * *", "overlap": "allow"}
    assert house.ask("POST", "/v1/schedules", {"schedule": schedule})[0] == 201


def fired(house: House, least: int) -> list[int]:
    """The ticks that have fired, once there are so many."""

    def look() -> list[int] | None:
        status, page = house.ask("GET", "/v1/jobs?limit=1000&task=plain")
        jobs: list[dict[str, Any]] = page["jobs"] if status == 200 else []
        return [job["fire_time"] for job in jobs] if len(jobs) >= least else None

    return until(look, f"{least} ticks have fired") or []


def test_two_daemons_fire_every_tick_once(side: Path, postgres_url: str, postgres_schema: str) -> None:
    settings = f'[daemon]\nstore = "{postgres_url}"\nschema = "{postgres_schema}"\n'
    with two_houses(side, settings) as (first, second):
        daemons = [house.up("--workers", "0") for house in (first, second)]
        put_schedule(first)
        fired(first, 2)
        daemons[0].kill()
        before = fired(second, 2)
        after = fired(second, len(before) + 2)
        assert len(set(after)) == len(after)
        second.down(daemons[1])
