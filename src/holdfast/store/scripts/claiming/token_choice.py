"""Choose jobs when some of them need tokens.

Smaller jobs may pass one that does not fit, for a while. Then it is overdue: the tokens that it needs are kept for it,
and it starts before all others once it fits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce
from typing import Protocol

from msgspec import Struct

from holdfast.core.job import Millis
from holdfast.core.jobs import order
from holdfast.core.rules.limits import MAX_PRIORITY
from holdfast.core.rules.tokens import NO_TOKENS, Tokens
from holdfast.store.engine import Tx
from holdfast.store.scripts.claiming import fair_line
from holdfast.store.scripts.claiming.capacity import SessionMachine
from holdfast.store.scripts.claiming.fair_line import Candidate, Pick, QueueRequest
from holdfast.store.scripts.claiming.token_line import Head, TokenLine
from holdfast.store.scripts.tasks import offers
from holdfast.store.statements import sql

MOST_OVERDUE = 64


class OverdueJob(Head, frozen=True, gc=False):
    """A job that others have passed for too long."""

    queue: str
    task: str
    has_aged: int
    is_suspect: int


class WantedSlots(Struct, frozen=True):
    """How many jobs a claim wants of each queue. The queues that it does not name share `wild_slots`."""

    slots: int
    named: Mapping[str, tuple[QueueRequest, int]]
    wild: Mapping[str, tuple[QueueRequest, int]]
    wild_slots: int


class KeptTokens(Struct, frozen=True):
    """Tokens that are kept for a job."""

    job: OverdueJob
    needs: Tokens


class TokenChoice(Struct, frozen=True):
    """The jobs to start: in order, and by queue. `taken` are the tokens that they take.

    `passed` are jobs that did not fit at their turn. `had_waited`: one of the jobs had been passed before.
    """

    jobs: Sequence[Candidate]
    picks: Sequence[Pick]
    passed: Sequence[Head]
    kept: KeptTokens | None
    taken: Tokens
    had_waited: bool


class PassedJob(Protocol):
    """A job that did not fit at its turn."""

    @property
    def number(self) -> int:
        """The number of the job."""

    @property
    def tokens_since(self) -> Millis | None:
        """Since when others pass it. None: this is the first time."""


def choose_with_tokens(
    tx: Tx, wanted: WantedSlots, machine: SessionMachine, may_start: Callable[[str], bool], now: Millis
) -> TokenChoice:
    """Choose the jobs that start now. `may_start` says whether a queue could start a job if nothing of it ran."""
    plan = _TokenPlan(tx, wanted, machine)
    kept: KeptTokens | None = None
    for job in overdue_jobs(tx, machine, now):
        if not plan.start_early(job) and _is_awaited(tx, job, machine.node, may_start):
            kept = KeptTokens(job, job.needs)
            break
    plan.room = plan.room.less(NO_TOKENS if kept is None else kept.needs)
    plan.take_named()
    plan.take_wild()
    passed = [head for line in plan.lines.values() for head in line.passed]
    taken = reduce(Tokens.plus, (head.needs for head in plan.order), NO_TOKENS)
    had_waited = any(head.tokens_since is not None for head in plan.order)
    return TokenChoice(*_filled(tx, plan), passed, kept, taken, had_waited)


def overdue_jobs(tx: Tx, machine: SessionMachine, now: Millis) -> list[OverdueJob]:
    """The overdue jobs that fit on the machine when nothing runs there. The longest wait comes first."""
    most = machine.capacity
    return tx.all(
        sql.overdue_jobs,
        OverdueJob,
        before=now - machine.timeout_ms,
        open_lanes=machine.machine_lanes,
        node=machine.number,
        cpu=most.cpu,
        gpu=most.gpu,
        io=most.io,
        limit=MOST_OVERDUE,
        now=now,
    )


def kept_tokens(tx: Tx, machine: SessionMachine, may_start: Callable[[str], bool], now: Millis) -> KeptTokens | None:
    """The tokens that a machine keeps for its first overdue job that a worker there would start."""
    for job in overdue_jobs(tx, machine, now):
        if _is_awaited(tx, job, machine.node, may_start):
            return KeptTokens(job, job.needs)
    return None


def note_passed(tx: Tx, passed: Iterable[PassedJob], kept: KeptTokens | None, now: Millis) -> None:
    """Store which jobs were passed. If tokens are kept for a job, its priority rises once."""
    # A moment in the future is of a clock that was wrong.
    new = [head for head in passed if head.tokens_since is None or head.tokens_since > now]
    tx.run_many(sql.note_passed, [{"number": head.number, "now": now} for head in new])
    if kept is not None and not kept.job.has_aged:
        job, priority = kept.job, min(kept.job.priority + 1, MAX_PRIORITY)
        last = tx.value(sql.highest_position, queue=job.queue, tenant=job.tenant, priority=priority)
        tx.run(sql.age_job, number=job.number, priority=priority, position=order.next_position(last))


def _is_awaited(tx: Tx, job: OverdueJob, node: str, may_start: Callable[[str], bool]) -> bool:
    """Whether a worker on the machine would start it."""
    workers = [worker for worker in offers.living_workers(tx) if worker.node == node]
    return any(worker.serves(job.queue, job.task) for worker in workers) and may_start(job.queue)


class _TokenPlan:
    """The jobs that a claim has chosen so far, and the tokens that are left."""

    def __init__(self, tx: Tx, wanted: WantedSlots, machine: SessionMachine) -> None:
        self.lines: dict[str, TokenLine] = {}
        self.order: list[Head] = []
        self.room = machine.free
        self._tx = tx
        self._wanted = wanted
        self._capacity = machine.capacity
        self._wild_left = wanted.wild_slots

    @property
    def _left(self) -> int:
        return self._wanted.slots - len(self.order)

    def start_early(self, job: OverdueJob) -> bool:
        """Start a job before all others, if the claim wants it and it fits."""
        wanted, is_wild = self._wanted, job.queue in self._wanted.wild
        asked = wanted.wild.get(job.queue) or wanted.named.get(job.queue)
        if asked is None or job.is_suspect or job.task not in asked[0].tasks or not job.needs.fit(self.room):
            return False
        line = self._line(*asked)
        if line.left <= 0 or self._left <= 0 or (is_wild and self._wild_left <= 0):
            return False
        line.start_early(job)
        self._note(job, is_wild)
        return True

    def take_named(self) -> None:
        """Take jobs of the queues that the claim names, one queue after the other."""
        for request, slots in self._wanted.named.values():
            line = self._line(request, slots)
            while self._left > 0 and line.peek(self.room) is not None:
                self._note(line.take(), is_wild=False)

    def take_wild(self) -> None:
        """Take jobs of all other queues: the higher priority first, then the older job."""
        lines = [self._line(request, slots) for request, slots in self._wanted.wild.values()]
        while self._left > 0 and self._wild_left > 0:
            heads = [(head, line) for line in lines if (head := line.peek(self.room)) is not None]
            if not heads:
                return
            _, line = min(heads, key=lambda item: order.rank_among_heads(item[0]))
            self._note(line.take(), is_wild=True)

    def _line(self, request: QueueRequest, slots: int) -> TokenLine:
        if request.queue not in self.lines:
            self.lines[request.queue] = TokenLine(self._tx, request, self._capacity, min(slots, self._wanted.slots))
        return self.lines[request.queue]

    def _note(self, head: Head, is_wild: bool) -> None:
        self.order.append(head)
        self.room = self.room.less(head.needs)
        self._wild_left -= is_wild


def _filled(tx: Tx, plan: _TokenPlan) -> tuple[list[Candidate], list[Pick]]:
    """The chosen jobs with all that a run needs: in order, and by queue."""
    numbers = fair_line.json_list([head.number for head in plan.order])
    found = {job.number: job for job in tx.all(sql.claimable_numbers, Candidate, numbers=numbers)} if plan.order else {}
    picks = [
        Pick(queue, [found[head.number] for head in line.taken], line.line, line.spent)
        for queue, line in plan.lines.items()
    ]
    return [found[head.number] for head in plan.order], picks
