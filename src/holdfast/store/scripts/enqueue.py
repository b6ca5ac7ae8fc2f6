"""Store new jobs, one or many, in one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import structs

from holdfast.core.group import GroupMode
from holdfast.core.job import TERMINAL, WAITING, JobId, Millis, StateName
from holdfast.core.requests import Enqueued, Line, NewJob
from holdfast.core.reserved import refuse_reserved
from holdfast.core.timing import first_state
from holdfast.core.tokens import NO_TOKENS
from holdfast.store.engine import Tx
from holdfast.store.rows import JobRow
from holdfast.store.scripts.door import Door
from holdfast.store.scripts.endings import GROUP_RULE, announce_ended, group_key
from holdfast.store.scripts.group_events import tell_groups
from holdfast.store.scripts.groups import find_group, look_up_group
from holdfast.store.scripts.job_events import tell_ended
from holdfast.store.scripts.known_tasks import Tasks, is_known
from holdfast.store.scripts.lines import Lines
from holdfast.store.scripts.look import Link, find_row
from holdfast.store.scripts.nodes import find_node
from holdfast.store.scripts.placing import Condition, Placing, find_place
from holdfast.store.scripts.reporting import Ended, note_ended, say_enqueued
from holdfast.store.statements import sql


def enqueue(
    tx: Tx, jobs: Sequence[NewJob], now: Millis, repeated: bool = False, must_exist: bool = False
) -> list[Enqueued]:
    """Store the jobs in the order given; each takes the place behind the last one of its queue and priority.

    What a job leaves open is as its task declares, then as its queue says. `repeated`: an earlier call with the same
    ids may have come through; what it stored is the answer. `must_exist`: refuse a task that no worker has declared.
    """
    for task, queue in {(job.task, job.queue) for job in jobs}:
        refuse_reserved(task, queue)
    return enqueue_any(tx, jobs, now, repeated, must_exist)


def enqueue_any(
    tx: Tx, jobs: Sequence[NewJob], now: Millis, repeated: bool = False, must_exist: bool = False
) -> list[Enqueued]:
    """As `enqueue`, also for jobs of the system's own, and of schedules and watches that were there before it."""
    tasks = Tasks(tx, checks=True, must_exist=must_exist)
    if not repeated:
        jobs = [tasks.resolve(job) for job in jobs]  # The door has to know which queues they come to.
    return _all_in(tx, Batch(tx, now, Door(tx, now, jobs), tasks), jobs, repeated)


def take_in(tx: Tx, jobs: Sequence[NewJob], now: Millis, repeated: bool = False) -> list[Enqueued]:
    """As `enqueue`, for jobs that come in whether there is room for them or not."""
    return _all_in(tx, Batch(tx, now, None), jobs, repeated)


def take_again(tx: Tx, job: NewJob, old: JobRow, now: Millis) -> Enqueued:
    """As `take_in`, for another try of an old job; in a group it continues the old one."""
    batch = Batch(tx, now, None)
    answer = batch.add(job, old)
    batch.close()
    return answer


def _all_in(tx: Tx, batch: Batch, jobs: Sequence[NewJob], repeated: bool) -> list[Enqueued]:
    jobs = _in_groups(tx, jobs)
    answers = [(find_stored(tx, job.id) if repeated else None) or batch.add(job) for job in jobs]
    batch.close()
    return answers


def _in_groups(tx: Tx, jobs: Sequence[NewJob]) -> Sequence[NewJob]:
    """The same jobs, with the ids of groups that they name."""
    named = {job.group_id for job in jobs if job.group_id is not None}
    if not named:
        return jobs
    ids = {name: look_up_group(tx, name).id for name in named}
    return [job if job.group_id is None else structs.replace(job, group_id=ids[job.group_id]) for job in jobs]


def find_stored(tx: Tx, job_id: JobId) -> Enqueued | None:
    """The answer for a job that an earlier call has stored, if one has."""
    found = tx.one(sql.last_link, Link, id=job_id)
    if found is None:
        return None
    known = is_known(tx, find_row(tx, job_id).job_type)
    return Enqueued(job_id, StateName(found.state), found.generation, known=known)


class Batch:
    """Rows on their way into the store, written together as long as no later job has to see them."""

    def __init__(self, tx: Tx, now: Millis, door: Door | None, tasks: Tasks | None = None) -> None:
        self._tx = tx
        self._now = now
        self._door = door
        self._rows: list[dict[str, Any]] = []
        self._conditions: list[dict[str, Any]] = []
        self._tasks = tasks or Tasks(tx)
        self._lines = Lines(tx, door, self._tasks, now)
        self._parallel: dict[str, bool] = {}
        self._tails: dict[str, tuple[str, int]] = {}
        self._ended: list[str] = []
        self._late: list[str] = []
        self._nodes: dict[str, int] = {}

    def add(self, job: NewJob, old: JobRow | None = None) -> Enqueued:
        """Take a job in; an earlier request that stands for it is the answer instead. `old`: it is retried by hand."""
        job = self._tasks.resolve(job)
        quick = self._quick_placing(job) if old is None else None
        if quick is not None:
            answer = self._store(job, quick)
            if quick.group_seq is not None:
                self._remember_tail(job, quick, answer.state)
            return answer
        self.flush()
        self._lines.meet(job)  # Before anything is pushed aside for it, so that the door knows who waited then.
        if self._door is not None:
            self._door.only_plain = False
        placing = find_place(self._tx, job, self._now, old)
        if isinstance(placing, Enqueued):
            return structs.replace(placing, known=self._tasks.knows(job))
        answer = self.place(job, placing)
        if job.subject is not None or old is not None:
            self._tails.clear()  # It may have ended some of them, or stand behind them.
        elif job.group_id is not None and placing.group_seq is not None:
            self._remember_tail(job, placing, answer.state)
        if placing.ends_as is not None:
            announce_ended(self._tx, [_ended(job, placing, placing.ends_as)], self._now, later=True)
            self._ended.append(job.id)
        return answer

    def close(self) -> None:
        """Write the rest, see whether there is room for all of it, and tell of what came too late, and of groups."""
        self.flush()
        if self._door is not None:
            self._door.close()
        if self._late:
            tell_ended(self._tx, self._late, self._now)
        if self._ended or self._late:
            tell_groups(self._tx, [*self._ended, *self._late], self._now)

    def _quick_placing(self, job: NewJob) -> Placing | None:
        """Where it belongs, if that is known without a look at the store: by itself, or behind one of this batch."""
        if job.is_plain:
            return Placing()
        if job.group_id is None or not structs.replace(job, group_id=None).is_plain:
            return None
        if job.group_id in self._tails:
            before, seq = self._tails[job.group_id]
            return Placing(group_seq=seq + 1, conditions=[Condition(group_key(before), GROUP_RULE, None)])
        if job.group_id not in self._parallel:
            self._parallel[job.group_id] = find_group(self._tx, job.group_id).mode == GroupMode.PARALLEL
        return Placing() if self._parallel[job.group_id] else None

    def _remember_tail(self, job: NewJob, placing: Placing, state: StateName) -> None:
        assert job.group_id is not None
        assert placing.group_seq is not None
        if state in TERMINAL:
            self._tails.pop(job.group_id, None)
        else:
            self._tails[job.group_id] = (job.id, placing.group_seq)

    def flush(self) -> None:
        """Write what has been taken in so far."""
        if self._rows:
            self._tx.run_many(sql.insert_job, self._rows)
            self._rows = []
        if self._conditions:
            self._tx.run_many(sql.insert_condition, self._conditions)
            self._conditions = []

    def place(self, job: NewJob, placing: Placing) -> Enqueued:
        """Write the job with its conditions, at once."""
        answer = self._store(job, placing)
        self.flush()
        return answer

    def _store(self, job: NewJob, placing: Placing) -> Enqueued:
        now = self._now
        line = self._lines.meet(job)
        queue, _, _ = line
        due = job.due if job.delay_ms is None else now + job.delay_ms
        state = placing.ends_as or first_state(now, due, job.deadline, blocked=placing.open_conditions > 0)
        if state is StateName.SKIPPED_DEADLINE and placing.reason is None:
            placing.reason = "its deadline had passed when it came"
        if state is StateName.QUEUED:
            self._tx.changes.ready.add(queue)
        if state is StateName.SCHEDULED or job.ttl_ms is not None or job.deadline is not None:
            self._tx.changes.due = True
        self._tx.tally.count_enqueued(queue)
        say_enqueued(self._tx, job, state)
        if state in TERMINAL and placing.ends_as is None:
            note_ended(self._tx, _ended(job, placing, state))
            self._late.append(job.id)
        self._rows.append(self._row(job, line, placing, state, due))
        if placing.conditions:
            self._conditions += [structs.asdict(condition) | {"job_id": job.id} for condition in placing.conditions]
        if self._door is not None and self._door.is_guarding and state in WAITING:
            self._door.count(job)
        return Enqueued(job.id, state, placing.generation, known=self._tasks.knows(job))

    def _number_of(self, node: str) -> int:
        if node not in self._nodes:
            self._nodes[node] = find_node(self._tx, node).number
        return self._nodes[node]

    def _row(self, job: NewJob, line: Line, placing: Placing, state: StateName, due: Millis | None) -> dict[str, Any]:
        queue, tenant, priority = line
        usual = self._lines.usual(queue)
        policy = job.policy or usual.policy
        tokens = job.tokens or NO_TOKENS
        return {
            "id": job.id,
            "queue": queue,
            "job_type": job.task,
            "subject_key": job.subject,
            "generation": placing.generation,
            "priority": priority,
            "position": self._lines.next_position(line),
            "state": state,
            "created_at": self._now,
            "queued_at": self._now if state is StateName.QUEUED else None,
            "finished_at": self._now if state in TERMINAL else None,
            "payload": job.payload,
            "error_code": placing.error_code,
            "reason": placing.reason,
            "trace_id": job.trace_id,
            "retry_mode": policy.mode,
            "max_retries": policy.retries,
            "max_infra": policy.infra,
            "backoff_initial_ms": policy.initial_ms,
            "backoff_factor": policy.factor,
            "backoff_cap_ms": policy.cap_ms,
            "deadline": job.deadline,
            "ttl_ms": job.ttl_ms,
            "timeout_ms": usual.timeout_ms if job.timeout_ms is None else job.timeout_ms,
            "schedule_type": _schedule_type(job),
            "scheduled_at": due,
            "schedule_delay_ms": job.delay_ms,
            "open_conditions": placing.open_conditions,
            "parent_job_id": job.parent_job_id,
            "group_id": job.group_id,
            "group_seq": placing.group_seq,
            "user_tag": job.tag,
            "tenant": tenant,
            "idempotency_key": job.idempotency_key,
            "trigger": job.trigger,
            "wait_for_idle": int(job.wait_for_idle or 0),
            "require_charging": int(job.require_charging or 0),
            "wait_for_event": job.wait_for_event,
            "template_id": job.template_id,
            "schedule_id": job.schedule_id,
            "fire_time": job.fire_time,
            "retry_of": placing.retry_of,
            "cpu": tokens.cpu,
            "gpu": tokens.gpu,
            "io": tokens.io,
            "stop_older": int(job.stop_older or 0),
            "retried_from": placing.retried_from,
            "node": 0 if job.node is None else self._number_of(job.node),
        }


def _ended(job: NewJob, placing: Placing, state: StateName) -> Ended:
    queue, _, _ = job.line
    return Ended(
        job.id,
        state,
        queue,
        job.trace_id,
        placing.reason,
        placing.error_code,
        placing.generation,
        placing.newer if state is StateName.SUPERSEDED else None,
    )


def _schedule_type(job: NewJob) -> str:
    if job.after or job.group_id is not None or job.wait_for_event or job.wait_for_idle or job.require_charging:
        return "CONDITION"
    if job.delay_ms is not None:
        return "AFTER"
    return "IMMEDIATE" if job.due is None else "AT"
