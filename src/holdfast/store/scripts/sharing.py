"""Share out the tokens of a machine: who starts now, for whom room is kept, and who has been passed.

Smaller jobs may pass one that does not fit, for a while. Then it starts before all others as soon as there is room, and
what it needs is kept for it until then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce
from typing import Protocol

import msgspec
from msgspec import Struct

from holdfast.core.job import Millis
from holdfast.core.limits import MAX_PRIORITY
from holdfast.core.order import next_position
from holdfast.core.tokens import NO_TOKENS, Tokens
from holdfast.store.engine import Tx
from holdfast.store.scripts.offers import living_workers
from holdfast.store.scripts.picking import Candidate, Pick, Wish
from holdfast.store.scripts.room import Claimer
from holdfast.store.scripts.walking import Head, Walk
from holdfast.store.statements import sql

MOST_OVERDUE = 64


class Overdue(Head, frozen=True, gc=False):
    """A job that others have passed for long enough."""

    queue: str
    task: str
    has_aged: int
    is_suspect: int


class Wanted(Struct, frozen=True):
    """What a claimer can take: so many of each queue by name, and of the wild ones, which share `wild_slots`."""

    slots: int
    named: Mapping[str, tuple[Wish, int]]
    wild: Mapping[str, tuple[Wish, int]]
    wild_slots: int


class Kept(Struct, frozen=True):
    """The room that is kept for a job."""

    job: Overdue
    needs: Tokens


class Share(Struct, frozen=True):
    """What is started, in order and by queue, and what it takes; who was passed, and for whom room is kept.

    `had_waited`: one of those who start had been passed.
    """

    jobs: Sequence[Candidate]
    picks: Sequence[Pick]
    passed: Sequence[Head]
    kept: Kept | None
    taken: Tokens
    had_waited: bool


class Passed(Protocol):
    """A job that found no room at its turn, and since when others have passed it."""

    @property
    def number(self) -> int:
        """Which one it is."""

    @property
    def tokens_since(self) -> Millis | None:
        """None: nobody has yet."""


def share_out(tx: Tx, wanted: Wanted, claimer: Claimer, may_start: Callable[[str], bool], now: Millis) -> Share:
    """Who starts now. `may_start` says whether a queue may start anything at all, however much of it runs."""
    plan = _Plan(tx, wanted, claimer)
    kept: Kept | None = None
    for job in overdue_jobs(tx, claimer, now):
        if not plan.start_first(job) and _is_awaited(tx, job, claimer.node, may_start):
            kept = Kept(job, job.needs)
            break
    plan.room = plan.room.less(NO_TOKENS if kept is None else kept.needs)
    plan.take_named()
    plan.take_wild()
    passed = [head for walk in plan.walks.values() for head in walk.passed]
    taken = reduce(Tokens.plus, (head.needs for head in plan.order), NO_TOKENS)
    had_waited = any(head.tokens_since is not None for head in plan.order)
    return Share(*_filled(tx, plan), passed, kept, taken, had_waited)


def overdue_jobs(tx: Tx, claimer: Claimer, now: Millis) -> list[Overdue]:
    """Those who have waited for tokens for too long, and which the machine could hold; the longest wait first."""
    most = claimer.capacity
    return tx.all(
        sql.overdue_jobs,
        Overdue,
        before=now - claimer.timeout_ms,
        open_lanes=claimer.machine_lanes,
        node=claimer.number,
        cpu=most.cpu,
        gpu=most.gpu,
        io=most.io,
        limit=MOST_OVERDUE,
        now=now,
    )


def kept_room(tx: Tx, claimer: Claimer, may_start: Callable[[str], bool], now: Millis) -> Kept | None:
    """The room that is kept on a machine, as long as nobody who can start starts."""
    for job in overdue_jobs(tx, claimer, now):
        if _is_awaited(tx, job, claimer.node, may_start):
            return Kept(job, job.needs)
    return None


def note_share(tx: Tx, passed: Iterable[Passed], kept: Kept | None, now: Millis) -> None:
    """Write down who was passed, and let the priority of whom room is kept for grow."""
    # A moment that is still to come is one of a clock that was wrong.
    new = [head for head in passed if head.tokens_since is None or head.tokens_since > now]
    tx.run_many(sql.note_passed, [{"number": head.number, "now": now} for head in new])
    if kept is not None and not kept.job.has_aged:
        job, priority = kept.job, min(kept.job.priority + 1, MAX_PRIORITY)
        last = tx.value(sql.highest_position, queue=job.queue, tenant=job.tenant, priority=priority)
        tx.run(sql.age_job, number=job.number, priority=priority, position=next_position(last))


def _is_awaited(tx: Tx, job: Overdue, node: str, may_start: Callable[[str], bool]) -> bool:
    """Whether somebody on the machine would start it."""
    workers = [worker for worker in living_workers(tx) if worker.node == node]
    return any(worker.serves(job.queue, job.task) for worker in workers) and may_start(job.queue)


class _Plan:
    """A claim as it takes shape."""

    def __init__(self, tx: Tx, wanted: Wanted, claimer: Claimer) -> None:
        self.walks: dict[str, Walk] = {}
        self.order: list[Head] = []
        self.room = claimer.free
        self._tx = tx
        self._wanted = wanted
        self._capacity = claimer.capacity
        self._wild_left = wanted.wild_slots

    @property
    def _left(self) -> int:
        return self._wanted.slots - len(self.order)

    def start_first(self, job: Overdue) -> bool:
        """Start it before all others, if the claimer can take it and there is room."""
        wanted, is_wild = self._wanted, job.queue in self._wanted.wild
        asked = wanted.wild.get(job.queue) or wanted.named.get(job.queue)
        if asked is None or job.is_suspect or job.task not in asked[0].tasks or not job.needs.fit(self.room):
            return False
        walk = self._walk(*asked)
        if walk.left <= 0 or self._left <= 0 or (is_wild and self._wild_left <= 0):
            return False
        walk.start_first(job)
        self._note(job, is_wild)
        return True

    def take_named(self) -> None:
        """The turns of the queues that are asked for by name, one queue after the other."""
        for wish, slots in self._wanted.named.values():
            walk = self._walk(wish, slots)
            while self._left > 0 and walk.peek(self.room) is not None:
                self._note(walk.take(), is_wild=False)

    def take_wild(self) -> None:
        """The turns of all the others: between their heads, the higher priority and then the older job goes first."""
        walks = [self._walk(wish, slots) for wish, slots in self._wanted.wild.values()]
        while self._left > 0 and self._wild_left > 0:
            heads = [(head, walk) for walk in walks if (head := walk.peek(self.room)) is not None]
            if not heads:
                return
            _, walk = min(heads, key=lambda item: (-item[0].priority, item[0].created_at, item[0].number))
            self._note(walk.take(), is_wild=True)

    def _walk(self, wish: Wish, slots: int) -> Walk:
        if wish.queue not in self.walks:
            self.walks[wish.queue] = Walk(self._tx, wish, self._capacity, min(slots, self._wanted.slots))
        return self.walks[wish.queue]

    def _note(self, head: Head, is_wild: bool) -> None:
        self.order.append(head)
        self.room = self.room.less(head.needs)
        self._wild_left -= is_wild


def _filled(tx: Tx, plan: _Plan) -> tuple[list[Candidate], list[Pick]]:
    """The jobs with all that a run needs, in order, and those of each queue."""
    numbers = msgspec.json.encode([head.number for head in plan.order]).decode()
    found = {job.number: job for job in tx.all(sql.claimable_numbers, Candidate, numbers=numbers)} if plan.order else {}
    picks = [
        Pick(queue, [found[head.number] for head in walk.taken], turns=walk.turns, spent=walk.spent)
        for queue, walk in plan.walks.items()
    ]
    return [found[head.number] for head in plan.order], picks
