"""For random schedules, pauses, crashes and steps of the clock, exactly the ticks fire that a simple model names.

The model knows no cron: its ticks are multiples of a period. It knows nothing of rows or transactions either.
"""

from __future__ import annotations

from collections import Counter
from itertools import count
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import Struct

from holdfast.core.jobs.requests import ClaimRequest, QueueSlots
from holdfast.core.messages.schedules import NewSchedule, ScheduleChanges
from holdfast.core.messages.templates import NewTemplate
from holdfast.core.schedules.schedule import FAR_AHEAD, MISFIRE_GRACE, MOST_AT_ONCE, Misfire, Overlap
from holdfast.core.tasks.task import ScheduleOptions
from holdfast.store.engine import Engine, Tx
from holdfast.store.scripts.claiming.claim import claim
from holdfast.store.scripts.schedules.firing import fire_due
from holdfast.store.scripts.schedules.schedules import (
    delete_schedule,
    edit_schedule,
    find_schedule,
    pause_schedule,
    put_schedule,
    resume_schedule,
)
from holdfast.store.scripts.schedules.templates import put_template
from tests.store.acts import NOW, SESSION, TASK, end, select, write

SECOND, MINUTE, HOUR, DAY = 1_000, 60_000, 3_600_000, 86_400_000


class Beat(Struct, frozen=True):
    """A cron expression, and what it means in numbers."""

    cron: str
    period: int
    offset: int = 0

    def between(self, after: int, until: int) -> list[int]:
        """The ticks behind one moment and up to another, newest first."""
        newest = (until - self.offset) // self.period * self.period + self.offset
        return list(range(newest, after, -self.period))


BEATS = (
    Beat("* * * * * */10", 10 * SECOND),
    Beat("* * * * * 20", MINUTE, 20 * SECOND),
    Beat("*/5 * * * *", 5 * MINUTE),
    Beat("30 * * * *", HOUR, 30 * MINUTE),
)


class Model:
    """What should happen."""

    def __init__(self, beat: Beat, misfire: Misfire, overlap: Overlap) -> None:
        self.beat, self.misfire, self.overlap = beat, misfire, overlap
        self.settled, self.enabled, self.is_busy = NOW, True, False
        self.fired: list[int] = []
        self.triggered = 0
        self.skipped: Counter[str] = Counter()

    def begin_anew(self, now: int) -> None:
        self.settled = max(self.settled, now)

    def fire(self, now: int) -> None:
        if not self.enabled:
            return
        if self.settled > now + FAR_AHEAD:
            self.settled = now
            return
        due = self.beat.between(self.settled, now)
        if not due:
            return
        self.settled = due[0]
        on_time = [tick for tick in due if tick >= now - MISFIRE_GRACE]
        kept = {
            Misfire.SKIP: on_time,
            Misfire.LATEST: due if due == on_time else due[:1],
            Misfire.ALL: due[:MOST_AT_ONCE],
        }[self.misfire]
        self.skipped["too many" if self.misfire is Misfire.ALL else "missed"] += len(due) - len(kept)
        last = self.triggered
        new = [tick for tick in reversed(kept) if tick not in self.fired and not (last and tick <= last <= now)]
        self.skipped["fired before"] += len(kept) - len(new)
        first = [] if self.is_busy else new[:1]
        fires = {Overlap.ALLOW: new, Overlap.SKIP: first, Overlap.SUPERSEDE: new[-1:]}[self.overlap]
        self.skipped["overlap"] += len(new) - len(fires)
        self.fired += fires
        self.triggered = now if fires else self.triggered
        self.is_busy |= bool(fires)


moves = st.one_of(
    st.tuples(st.just("pass"), st.integers(1, 2 * HOUR)),
    st.tuples(st.just("pass"), st.integers(1, 30 * SECOND)),
    st.tuples(st.just("step"), st.integers(-3 * DAY, 3 * DAY)),
    st.tuples(st.just("step"), st.integers(-HOUR, HOUR)),
    st.tuples(st.sampled_from(["fire", "fire", "crash", "pause", "resume", "work"]), st.just(0)),
    st.tuples(st.just("edit"), st.integers(0, len(BEATS) - 1)),
)
numbers = count(1)


class Crash(Exception):
    pass


class World:
    """What does happen, in a queue of its own."""

    def __init__(self, engine: Engine, model: Model) -> None:
        self.engine = engine
        self.id = f"s{next(numbers)}"
        write(engine, put_template, NewTemplate(id="t1", name="clean", task=TASK), NOW)
        schedule = NewSchedule(
            id=self.id,
            name=self.id,
            template="clean",
            cron=model.beat.cron,
            misfire=model.misfire,
            overlap=model.overlap,
            options=ScheduleOptions(queue=self.id),
        )
        write(engine, put_schedule, schedule, NOW)

    def crash(self, now: int) -> None:
        """The process dies before it has committed."""

        def die(tx: Tx) -> None:
            fire_due(tx, now)
            raise Crash

        try:
            write(self.engine, die)
        except Crash:
            return
        raise AssertionError("it has survived")

    def work(self, now: int) -> None:
        """Every job that waits is done."""
        lane = QueueSlots(self.id, 1_000)
        request = ClaimRequest(session_id=SESSION, slots=1_000, queues=(lane,), tasks=(TASK,), worker_id="w1")
        for run in write(self.engine, claim, request, now):
            end(self.engine, run, now=now)

    def fired(self) -> list[int]:
        rows = select(self.engine, "SELECT fire_time FROM jobs WHERE schedule_id = :id ORDER BY number", id=self.id)
        return [row["fire_time"] for row in rows]

    def skipped(self) -> Counter[str]:
        return Counter({skip.reason: skip.ticks for skip in self.engine.query(find_schedule, self.id).skips})


def move(world: World, model: Model, kind: str, size: int, now: int) -> None:
    """One thing happens, in both."""
    engine = world.engine
    match kind:
        case "fire":
            write(engine, fire_due, now)
            model.fire(now)
        case "crash":
            world.crash(now)
        case "pause":
            write(engine, pause_schedule, world.id, now)
            model.enabled = False
        case "resume":
            write(engine, resume_schedule, world.id, now)
            if not model.enabled:
                model.begin_anew(now)
            model.enabled = True
        case "edit":
            write(engine, edit_schedule, world.id, ScheduleChanges(cron=BEATS[size].cron), now)
            if model.beat != BEATS[size]:
                model.begin_anew(now)
            model.beat = BEATS[size]
        case "work":
            world.work(now)
            model.is_busy = False


@settings(
    deadline=None,
    max_examples=100,
    print_blob=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    beat=st.sampled_from(BEATS),
    misfire=st.sampled_from(Misfire),
    overlap=st.sampled_from(Overlap),
    history=st.lists(moves, max_size=14),
)
def test_the_ticks_that_fire_are_those_of_the_model(
    engine: Engine, beat: Beat, misfire: Misfire, overlap: Overlap, history: list[tuple[str, Any]]
) -> None:
    model = Model(beat, misfire, overlap)
    world, now = World(engine, model), NOW
    try:
        for kind, size in [*history, ("pass", MINUTE), ("fire", 0)]:
            now += size if kind in ("pass", "step") else 0
            move(world, model, kind, size, now)
            assert world.fired() == model.fired
        assert world.skipped() == +model.skipped
        assert len(set(model.fired)) == len(model.fired)
    finally:
        write(engine, delete_schedule, world.id, NOW)
