"""A world in virtual time around a real store: an agenda of what is going to happen, and who is woken by what happens.

Nobody asks the store on a suspicion: workers, the clockwork and cron act only on what a commit told them, so that a
wake-up that got lost shows as a job that waits although nothing holds it.
"""

from __future__ import annotations

import heapq
from collections import Counter, deque
from collections.abc import Callable, Iterator
from copy import deepcopy
from random import Random
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from holdfast.core.errors import StoreBusy, StoreFull
from holdfast.core.job import Millis
from holdfast.runtime.loop import LONGEST_PAUSE_S
from holdfast.store.engine import Changes, Engine, Tx
from holdfast.store.scripts.maintenance.clockwork import EVENTS_AT_ONCE, next_moment, tick
from holdfast.store.scripts.schedules.firing import fire_due, next_fire
from holdfast.store.topics import DUE, UNKNOWN
from tests.model.driver import PATIENCE_S, START
from tests.model.driver import Place as Place

P = ParamSpec("P")
T = TypeVar("T")

SECOND = 1_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR
MOST_IDLE_ROUNDS = 200
SHOWN = 30


class Sleeper(Protocol):
    """Whoever acts when a commit may concern him."""

    def heeds(self, changes: Changes) -> bool:
        """Whether these changes wake him."""

    def act(self) -> bool:
        """Do what is to be done now; whether that changed anything."""


class World:
    """The store, the time, and what is going to happen. All chance comes from one seed."""

    def __init__(self, place: Place, seed: int) -> None:
        self.place = place
        self.random = Random(seed)
        self.elapsed: Millis = 0
        self.offset: Millis = START
        self.counts: Counter[str] = Counter()
        self.clocks = {"clockwork": Clockwork(self), "cron": Cron(self)}
        self.sleepers: dict[str, Sleeper] = {**self.clocks}
        self._woken: dict[str, None] = {}
        self._agenda: list[tuple[Millis, int, Callable[[], None]]] = []
        self._planned = 0
        self._ids = 0
        self.diary: deque[str] = deque(maxlen=SHOWN)

    @property
    def engine(self) -> Engine:
        """The engine of the life that the store is in."""
        return self.place.engine

    @property
    def now(self) -> Millis:
        """The wall clock."""
        return self.offset + self.elapsed

    def fresh(self, letter: str) -> str:
        """An id that nothing has yet."""
        self._ids += 1
        return f"{letter}{self._ids:06d}"

    def plan(self, delay: float, action: Callable[[], None]) -> None:
        """Something is going to happen, so many milliseconds from now."""
        self._planned += 1
        heapq.heappush(self._agenda, (self.elapsed + max(0, round(delay)), self._planned, action))

    def call(self, script: Callable[Concatenate[Tx, P], T], *args: P.args, **kw: P.kwargs) -> T:
        """Write, and wake whom it concerns."""
        answer, changes = self.engine.submit(_told, script, args, kw).result(PATIENCE_S)
        self.counts[script.__name__] += 1
        told = sorted(changes.ready), sorted(topic.name for topic in changes.topics)
        self.diary.append(f"{self.elapsed / 1000:.3f} {script.__name__}{_short(args)} -> {_short(answer)}; told {told}")
        self.wake(*[name for name, sleeper in self.sleepers.items() if sleeper.heeds(changes)])
        result: T = answer
        return result

    def wake(self, *names: str) -> None:
        """These act before time goes on."""
        self._woken.update(dict.fromkeys(names))

    def steps(self, until: Millis) -> Iterator[Millis]:
        """Let time pass; after each moment at which something happened, and all that followed, whoever asks looks."""
        while self._agenda and self._agenda[0][0] <= until:
            self.elapsed = max(self.elapsed, self._agenda[0][0])
            # Whatever else happens at the same moment happens before anybody looks.
            while self._agenda and self._agenda[0][0] <= self.elapsed:
                heapq.heappop(self._agenda)[2]()
                self.settle()
                self.counts["events"] += 1
            yield self.elapsed
        self.elapsed = max(self.elapsed, until)

    def settle(self) -> None:
        """Whoever was woken acts, in any order, until nobody is woken any more."""
        idle = 0
        while self._woken:
            name = self.random.choice(sorted(self._woken))
            del self._woken[name]
            sleeper = self.sleepers.get(name)
            moved = sleeper is not None and sleeper.act()
            idle = 0 if moved else idle + 1
            assert idle < MOST_IDLE_ROUNDS, f"they wake each other without end; the last one was {name}"

    def set_clock(self, by: Millis) -> None:
        """The wall clock is set, and no time passes. Those who go by it notice; workers look again by themselves."""
        self.offset += by
        self.wake(*self.sleepers)


def _short(thing: object) -> str:
    text = repr(thing)
    return text if len(text) < 300 else f"{text[:150]} … {text[-150:]}"


def _told(tx: Tx, script: Callable[..., Any], args: tuple[Any, ...], kw: dict[str, Any]) -> tuple[Any, Changes]:
    """A script, and what its commit will tell."""
    answer = script(tx, *args, **kw)
    return answer, deepcopy(tx.changes)


class Clockwork:
    """What the promoter does: sleeps until the next moment that it knows of."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.sleeps_until: Millis | None = None

    def heeds(self, changes: Changes) -> bool:
        return DUE in changes.topics or UNKNOWN in changes.topics

    def next(self) -> Millis | None:
        """The next moment at which something is to be done."""
        return self.world.engine.query(next_moment)

    def move(self) -> bool:
        """Do what is to be done now; whether that was anything."""
        ticked = self.world.call(tick, self.world.now, events=EVENTS_AT_ONCE)
        return bool(ticked.promoted or ticked.expired)

    def act(self) -> bool:
        moved, idle = False, 0
        while (moment := self.next()) is not None and moment <= self.world.now:
            try:
                changed = self.move()
            except (StoreBusy, StoreFull):
                # New jobs are refused for now: a loop that fails tries again a little later.
                self.world.counts["refused to the clock"] += 1
                moment = self.world.now + round(LONGEST_PAUSE_S * SECOND)
                break
            moved, idle = moved or changed, 0 if changed else idle + 1
            assert idle < MOST_IDLE_ROUNDS, f"{type(self).__name__} finds nothing to do at {moment} again and again"
        self.sleeps_until = moment
        if moment is not None:
            self.world.plan(moment - self.world.now, lambda: self._wake_at(moment))
        return moved

    def look(self) -> None:
        """Nothing is to be done before he wakes up, or has been refused a moment ago."""
        moment, name = self.next(), type(self).__name__
        if moment is not None and moment > self.world.now:
            assert self.sleeps_until is not None, f"{name} sleeps without end, but {moment} is to come"
            assert self.sleeps_until <= moment, f"{name} sleeps {self.sleeps_until - moment} ms too long"
        elif moment is not None:
            assert self.sleeps_until is not None, f"{name} sleeps, but {moment} has come"
            assert self.sleeps_until - self.world.now <= LONGEST_PAUSE_S * SECOND, (
                f"{name} sleeps, but {moment} has come"
            )

    def _wake_at(self, moment: Millis) -> None:
        if self.sleeps_until == moment:
            self.world.wake(next(name for name, one in self.world.sleepers.items() if one is self))


class Cron(Clockwork):
    """The same for schedules."""

    def next(self) -> Millis | None:
        return self.world.engine.query(next_fire, self.world.now)

    def move(self) -> bool:
        fired = self.world.call(fire_due, self.world.now)
        self.world.counts["fired"] += fired.jobs
        self.world.counts["ticks skipped"] += fired.skipped
        return bool(fired.jobs or fired.skipped)
