"""Store new jobs, one or many, in one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import structs

from holdfast.core.job import TERMINAL, WAITING, JobId, Millis, ScheduleType, StateName
from holdfast.core.jobs.requests import COMMAND, Enqueued, Line, NewJob
from holdfast.core.rules import timing
from holdfast.core.tasks.command import check_command
from holdfast.core.tasks.reserved import refuse_reserved
from holdfast.core.values.group import GroupMode
from holdfast.store.engine import Tx
from holdfast.store.option_columns import to_columns
from holdfast.store.rows import JobRow
from holdfast.store.scripts.events import job_events
from holdfast.store.scripts.groups import group_events, groups
from holdfast.store.scripts.jobs import endings, relations
from holdfast.store.scripts.jobs.admission import Admission
from holdfast.store.scripts.jobs.endings import GROUP_RULE
from holdfast.store.scripts.jobs.queue_ends import QueueEnds
from holdfast.store.scripts.jobs.relations import NewCondition, Relations
from holdfast.store.scripts.machines import nodes
from holdfast.store.scripts.reading import read_jobs
from holdfast.store.scripts.reading.read_jobs import Link
from holdfast.store.scripts.tasks.known_tasks import Tasks, is_known
from holdfast.store.scripts.telling import log_lines
from holdfast.store.scripts.telling.log_lines import JobEnd
from holdfast.store.statements import sql
from holdfast.store.topics import DUE


def enqueue(
    tx: Tx, jobs: Sequence[NewJob], now: Millis, repeated: bool = False, must_exist: bool = False
) -> list[Enqueued]:
    """Store the jobs in the given order. Each comes behind the last one of its queue and priority.

    What a job leaves open is as its task declares, then as its queue says. `repeated`: if an earlier call with the same
    ids came through, what it stored is the answer. `must_exist`: refuse a task that no worker has declared.
    """
    for task, queue in {(job.task, job.queue) for job in jobs}:
        refuse_reserved(task, queue)
    for job in jobs:
        if job.task == COMMAND:
            check_command(msgspec.json.decode(job.payload))
    return enqueue_any(tx, jobs, now, repeated, must_exist)


def enqueue_any(
    tx: Tx, jobs: Sequence[NewJob], now: Millis, repeated: bool = False, must_exist: bool = False
) -> list[Enqueued]:
    """As `enqueue`, also for jobs of the system, and for schedules and watches that used a reserved name before."""
    tasks = Tasks(tx, checks=True, must_exist=must_exist)
    if not repeated:
        jobs = [tasks.resolve(job) for job in jobs]  # The admission has to know their queues.
    return _all_in(tx, Batch(tx, now, Admission(tx, now, jobs), tasks), jobs, repeated)


def take_in(tx: Tx, jobs: Sequence[NewJob], now: Millis, repeated: bool = False) -> list[Enqueued]:
    """As `enqueue`, for jobs that are taken whether there is room for them or not."""
    return _all_in(tx, Batch(tx, now, None), jobs, repeated)


def take_again(tx: Tx, job: NewJob, old: JobRow, now: Millis) -> Enqueued:
    """As `take_in`, for another try of an old job. In a group it continues the old one."""
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
    ids = {name: groups.look_up_group(tx, name).id for name in named}
    return [job if job.group_id is None else structs.replace(job, group_id=ids[job.group_id]) for job in jobs]


def find_stored(tx: Tx, job_id: JobId) -> Enqueued | None:
    """The answer for a job that an earlier call has stored, if one has."""
    found = tx.one(sql.last_link, Link, id=job_id)
    if found is None:
        return None
    row = read_jobs.find_row(tx, job_id)
    known = is_known(tx, row.job_type)
    return Enqueued(job_id, StateName(found.state), found.generation, known=known, number=row.number)


class Batch:
    """New jobs. They are written together, until a later one has to find them in the store."""

    def __init__(self, tx: Tx, now: Millis, admission: Admission | None, tasks: Tasks | None = None) -> None:
        self._tx = tx
        self._now = now
        self._admission = admission
        self._rows: list[dict[str, Any]] = []
        self._answers: list[Enqueued] = []
        self._conditions: list[dict[str, Any]] = []
        self._tasks = tasks or Tasks(tx)
        self._queue_ends = QueueEnds(tx, admission, self._tasks, now)
        self._parallel: dict[str, bool] = {}
        self._tails: dict[str, tuple[str, int]] = {}
        self._ended: list[str] = []
        self._late: list[str] = []
        self._nodes: dict[str, int] = {}

    def add(self, job: NewJob, old: JobRow | None = None) -> Enqueued:
        """Add a job, or answer with an earlier request that stands for it. `old`: the job that is retried by hand."""
        job = self._tasks.resolve(job)
        quick = self._quick_placing(job) if old is None else None
        if quick is not None:
            answer = self._store(job, quick)
            if quick.group_seq is not None:
                self._remember_tail(job, quick, answer.state)
            return answer
        self.flush()
        self._queue_ends.meet(job)  # Before it supersedes any job, so that the admission counts all that waited.
        if self._admission is not None:
            self._admission.only_plain = False
        placing = relations.find_place(self._tx, job, self._now, old)
        if isinstance(placing, Enqueued):
            return structs.replace(placing, known=self._tasks.knows(job))
        answer = self.place(job, placing)
        if job.subject is not None or old is not None:
            self._tails.clear()  # It may have ended some of these, or follow them.
        elif job.group_id is not None and placing.group_seq is not None:
            self._remember_tail(job, placing, answer.state)
        if placing.ends_as is not None:
            endings.announce_ended(self._tx, [_ended(job, placing, placing.ends_as)], self._now, later=True)
            self._ended.append(job.id)
        return answer

    def close(self) -> None:
        """Write the rest, check that there is room for all, and tell of jobs that came too late, and of groups."""
        self.flush()
        if self._admission is not None:
            self._admission.close()
        if self._late:
            job_events.tell_ended(self._tx, self._late, self._now)
        if self._ended or self._late:
            group_events.tell_groups(self._tx, [*self._ended, *self._late], self._now)

    def _quick_placing(self, job: NewJob) -> Relations | None:
        """Its relations, if they are known without a look at the store: none, or to another job of this batch."""
        if job.is_plain:
            return Relations()
        if job.group_id is None or not structs.replace(job, group_id=None).is_plain:
            return None
        if job.group_id in self._tails:
            before, seq = self._tails[job.group_id]
            return Relations(group_seq=seq + 1, conditions=[NewCondition(endings.group_key(before), GROUP_RULE, None)])
        if job.group_id not in self._parallel:
            self._parallel[job.group_id] = groups.find_group(self._tx, job.group_id).mode == GroupMode.PARALLEL
        return Relations() if self._parallel[job.group_id] else None

    def _remember_tail(self, job: NewJob, placing: Relations, state: StateName) -> None:
        assert job.group_id is not None
        assert placing.group_seq is not None
        if state in TERMINAL:
            self._tails.pop(job.group_id, None)
        else:
            self._tails[job.group_id] = (job.id, placing.group_seq)

    def flush(self) -> None:
        """Write what has been added so far."""
        if self._rows:
            numbers = self._tx.rows_many(sql.insert_job, self._rows)
            for answer, (number,) in zip(self._answers, numbers, strict=True):
                # No other code has seen it yet, and it is not worth a copy.
                structs.force_setattr(answer, "number", number)
            self._rows, self._answers = [], []
        if self._conditions:
            self._tx.run_many(sql.insert_condition, self._conditions)
            self._conditions = []

    def place(self, job: NewJob, placing: Relations) -> Enqueued:
        """Write the job with its conditions, at once."""
        answer = self._store(job, placing)
        self.flush()
        return answer

    def _store(self, job: NewJob, placing: Relations) -> Enqueued:
        now = self._now
        line = self._queue_ends.meet(job)
        queue, _, _ = line
        due = job.due if job.delay_ms is None else now + job.delay_ms
        state = placing.ends_as or timing.first_state(now, due, job.deadline, blocked=placing.open_conditions > 0)
        if state is StateName.SKIPPED_DEADLINE and placing.reason is None:
            placing.reason = "its deadline had passed when it came"
        if state is StateName.QUEUED:
            self._tx.changes.add_new(queue, job.task)
        if state is StateName.SCHEDULED or job.ttl_ms is not None or job.deadline is not None:
            self._tx.changes.topics.add(DUE)
        self._tx.tally.count_enqueued(queue)
        log_lines.say_enqueued(self._tx, job, state)
        if state in TERMINAL and placing.ends_as is None:
            log_lines.note_ended(self._tx, _ended(job, placing, state))
            self._late.append(job.id)
        self._rows.append(self._row(job, line, placing, state, due))
        if placing.conditions:
            self._conditions += [structs.asdict(condition) | {"job_id": job.id} for condition in placing.conditions]
        if self._admission is not None and self._admission.is_guarding and state in WAITING:
            self._admission.count(job)
        answer = Enqueued(job.id, state, placing.generation, known=self._tasks.knows(job))
        self._answers.append(answer)
        return answer

    def _number_of(self, node: str) -> int:
        if node not in self._nodes:
            self._nodes[node] = nodes.find_node(self._tx, node).number
        return self._nodes[node]

    def _row(self, job: NewJob, line: Line, placing: Relations, state: StateName, due: Millis | None) -> dict[str, Any]:
        queue, tenant, priority = line
        row = to_columns(job, self._queue_ends.usual(queue))
        row |= {
            "id": job.id,
            "queue": queue,
            "tenant": tenant,
            "priority": priority,
            "job_type": job.task,
            "generation": placing.generation,
            "position": self._queue_ends.next_position(line),
            "state": state,
            "created_at": self._now,
            "queued_at": self._now if state is StateName.QUEUED else None,
            "finished_at": self._now if state in TERMINAL else None,
            "payload": job.payload,
            "error_code": placing.error_code,
            "reason": placing.reason,
            "schedule_type": _schedule_type(job),
            "scheduled_at": due,
            "open_conditions": placing.open_conditions,
            "parent_job_id": job.parent_job_id,
            "group_seq": placing.group_seq,
            "trigger": job.trigger,
            "template_id": job.template_id,
            "schedule_id": job.schedule_id,
            "fire_time": job.fire_time,
            "retry_of": placing.retry_of,
            "retried_from": placing.retried_from,
            "node": 0 if job.node is None else self._number_of(job.node),
        }
        return row


def _ended(job: NewJob, placing: Relations, state: StateName) -> JobEnd:
    queue, _, _ = job.line
    return JobEnd(
        job.id,
        state,
        queue,
        job.trace_id,
        placing.reason,
        placing.error_code,
        placing.generation,
        placing.newer if state is StateName.SUPERSEDED else None,
    )


def _schedule_type(job: NewJob) -> ScheduleType:
    if job.after or job.group_id is not None or job.wait_for_event or job.wait_for_idle or job.require_charging:
        return ScheduleType.CONDITION
    if job.delay_ms is not None:
        return ScheduleType.AFTER
    return ScheduleType.IMMEDIATE if job.due is None else ScheduleType.AT
