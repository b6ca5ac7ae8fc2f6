"""What must be true of events, schedules, groups and webhooks after any number of kills, when all work has ended."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
from msgspec import Struct

from holdfast.store.engine import Engine
from tests.chaos.database import select
from tests.chaos.journal import Entry, entries
from tests.chaos.programs.happenings import ANY

Row: TypeAlias = dict[str, Any]

SECOND = 1_000


class Told(Struct, frozen=True):
    """An event that was acknowledged, and the moments in which it was asked for and acknowledged."""

    event_id: str
    name: str
    branch: str
    asked_at: int
    acked_at: int


class Happened:
    """All rows and lines that are about events and time."""

    def __init__(self, engine: Engine, folder: Path) -> None:
        self.events: dict[str, Row] = {row["id"]: row for row in select(engine, "SELECT * FROM events")}
        conditions = select(engine, "SELECT job_id, satisfied_by FROM job_conditions WHERE key = 'event'")
        self.came: dict[str, str | None] = {row["job_id"]: row["satisfied_by"] for row in conditions}
        self.schedules = select(engine, "SELECT * FROM schedules")
        self.ticks = select(
            engine, "SELECT schedule_id, fire_time FROM jobs WHERE fire_time IS NOT NULL AND retry_of IS NULL"
        )
        self.skips = select(engine, "SELECT * FROM schedule_skips")
        self.webhooks = select(engine, "SELECT id FROM webhooks")
        self.deliveries = select(engine, "SELECT * FROM webhook_deliveries")
        self.lines = entries(folder, "awaits", "emitting", "emitted", "received", "scheduled")

    def said(self, word: str) -> list[Entry]:
        """The lines that begin with this word."""
        return [entry for entry in self.lines if entry.word == word]

    def told(self) -> list[Told]:
        """Every event that was acknowledged, in the order of asking."""
        asked: dict[str, int] = {}
        found = []
        for entry in self.lines:
            if entry.word == "emitting":
                asked[entry.life] = entry.at
            elif entry.word == "emitted":
                event_id, name, branch = entry.about
                found.append(Told(event_id, name, branch, asked[entry.life], entry.at))
        return sorted(found, key=lambda told: told.asked_at)


def problems(engine: Engine, folder: Path) -> list[str]:
    """Everything that is wrong; empty if every promise was kept."""
    seen = Happened(engine, folder)
    checks = (_events, _reached, _ticks, _deliveries)
    return [problem for check in checks for problem in check(seen)]


def summary(engine: Engine, folder: Path) -> str:
    """What there was, in numbers."""
    seen = Happened(engine, folder)
    skipped = sum(row["ticks"] for row in seen.skips)
    return (
        f"{len(seen.said('emitted'))} events acknowledged, {len(seen.said('awaits'))} jobs waited for one, "
        f"{len(seen.ticks)} ticks fired, {skipped} skipped, {len(seen.deliveries)} deliveries"
    )


def _events(seen: Happened) -> Iterator[str]:
    for told in seen.told():
        if told.event_id not in seen.events:
            yield f"event {told.event_id} was acknowledged and is lost"
    for event in seen.events.values():
        if event["is_spreading"]:
            yield f"event {event['id']} ({event['name']}) has not reached everybody"


def _reached(seen: Happened) -> Iterator[str]:
    told = seen.told()
    asked = {one.event_id: one.asked_at for one in told}
    for entry in seen.said("awaits"):
        job_id, name, branch = entry.about
        event = seen.events.get(seen.came.get(job_id) or "")
        if event is None:
            yield f"job {job_id} has not seen the event {name} that it waited for"
        elif event["name"] != name or branch not in (ANY, msgspec.json.decode(event["attributes"])["branch"]):
            yield f"job {job_id} waited for {name} of {branch} and went on with {event['name']} {event['attributes']}"
        else:
            # Of events that were asked for at the same time, any may be stored first.
            missed = [
                one.event_id
                for one in told
                if one.name == name
                and branch in (ANY, one.branch)
                and entry.at < one.asked_at
                and one.acked_at < asked.get(event["id"], 0)
            ]
            if missed:
                yield f"event {missed[0]} did not reach job {job_id}, which waited for it; {event['id']} did"


def _ticks(seen: Happened) -> Iterator[str]:
    for entry in seen.said("scheduled"):
        if all(schedule["name"] != entry.about[0] for schedule in seen.schedules):
            yield f"schedule {entry.about[0]} was acknowledged and is lost"
    for schedule in seen.schedules:
        fired = sorted(tick["fire_time"] for tick in seen.ticks if tick["schedule_id"] == schedule["id"])
        skipped = sum(row["ticks"] for row in seen.skips if row["schedule_id"] == schedule["id"])
        begin = schedule["created_at"] // SECOND + 1
        wanted = range(begin * SECOND, schedule["last_fire_time"] + 1, SECOND)
        if len(fired) != len(set(fired)) or len(fired) != schedule["fires"]:
            yield f"schedule {schedule['name']} fired {schedule['fires']} times, for the ticks {fired}"
        if len(fired) + skipped != len(wanted) or not set(fired) <= set(wanted):
            yield f"of {len(wanted)} ticks of {schedule['name']}, {len(fired)} fired and {skipped} were skipped"
        if schedule["misfire"] == "all" and schedule["overlap"] == "allow" and skipped:
            yield f"schedule {schedule['name']} makes up for everything and has skipped {skipped} ticks"


def _deliveries(seen: Happened) -> Iterator[str]:
    received = {entry.about[0] for entry in seen.said("received")}
    pairs = [(row["webhook_id"], row["event_id"]) for row in seen.deliveries]
    if len(pairs) != len(set(pairs)):
        yield "an event has two deliveries to one webhook"
    for webhook in seen.webhooks:
        for told in seen.told():
            if (webhook["id"], told.event_id) not in pairs:
                yield f"event {told.event_id} has no delivery to webhook {webhook['id']}"
            elif told.event_id not in received:
                yield f"event {told.event_id} was never received"
    for entry in seen.said("received"):
        if len(set(entry.about)) > 1:
            yield f"event {entry.about[1]} came with the key {entry.about[0]}"
