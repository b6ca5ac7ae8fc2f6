"""Rules of what people do: cancel, retry, reorder, edit, pause, limit, reserve."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from holdfast.core.gates.queue import Overflow
from holdfast.core.job import WAITING
from holdfast.core.jobs.requests import JobFilter
from holdfast.core.messages.jobs import BulkAction, BulkResult, Cancelling
from holdfast.core.messages.reservations import EVERYTHING, NewReservation
from holdfast.core.settings.queue_changes import QueueChanges, QueueSetting
from holdfast.core.values.retry import RetryPolicy
from holdfast.store.engine import Tx
from holdfast.store.scripts.jobs import cancel, group_jobs, reorder, retry
from holdfast.store.scripts.jobs.bulk import bulk as bulk_script
from holdfast.store.scripts.queues import queues, reservations, reserve, tenants
from tests.model import again, commands, fairness, lanes, queue_limits, wishes
from tests.model.driver import Driver
from tests.model.wishes import nth

fields = st.fixed_dictionaries(
    {"states": wishes.states}, optional={"queue": wishes.queues, "task": wishes.tasks, "tag": wishes.tags}
)


changes = st.sampled_from(
    (
        QueueChanges(clear=(QueueSetting.RATE, QueueSetting.MAX_LENGTH)),
        QueueChanges(clear=(QueueSetting.MAX_LENGTH,)),
        QueueChanges(clear=(QueueSetting.RATE, QueueSetting.RETRY)),
        QueueChanges(max_length=3, overflow=Overflow.REJECT),
        QueueChanges(max_length=4, overflow=Overflow.SHED),
        QueueChanges(max_length=0),
        QueueChanges(breaker=1, breaker_for_ms=900),
        QueueChanges(breaker=2, breaker_for_ms=5_000),
        QueueChanges(breaker=0),
        QueueChanges(clear=(QueueSetting.BREAKER,)),
        QueueChanges(rate_limit=2, rate_window_ms=5_000),
        QueueChanges(rate_limit=1, rate_window_ms=900),
        QueueChanges(retry=RetryPolicy(retries=1, initial_ms=3)),
    )
)
weights = st.sampled_from((10, 30, 100, "activity"))


def bulk(tx: Tx, action: BulkAction, wanted: JobFilter, now: int, limit: int, dry_run: bool, n: int) -> BulkResult:
    """The script with its options in a row; `n` is the priority."""
    return bulk_script(tx, action, wanted, now, limit=limit, dry_run=dry_run, priority=n)


class People(Driver):
    """Somebody intervenes."""

    def some_job(self, n: int) -> str:
        return self.pick(list(self.model.jobs), n)

    def waiting_job(self, n: int) -> str:
        return self.pick([job.id for job in self.model.find(*WAITING)] or list(self.model.jobs), n)

    def new_ids(self) -> list[str]:
        """The jobs that the last call made."""
        return [job_id for job_id in self.store["job"] if job_id not in self.model.jobs]

    @precondition(lambda self: self.model.jobs)
    @rule(n=nth)
    def cancel_job(self, n: int) -> None:
        name = self.some_job(n)
        self._counted(self.call(cancel.cancel_job, name, self.now), self.expect(commands.cancel_job, name, self.now))

    @rule(tag=wishes.tags, n=st.none() | nth, limit=wishes.limits)
    def cancel_many(self, tag: str, n: int | None, limit: int) -> None:
        """By group where there is one, or by tag."""
        if n is not None and self.model.groups:
            name = self.pick(list(self.model.groups), n)
            answer = self.call(cancel.cancel_group, name, self.now, limit)
            self._counted(answer, self.expect(commands.cancel_group, name, self.now, limit))
        else:
            answer = self.call(cancel.cancel_tag, tag, self.now, limit)
            self._counted(answer, self.expect(commands.cancel_tag, tag, self.now, limit))

    def _counted(self, answer: Cancelling, expected: tuple[int, int, int] | None) -> None:
        assert (answer.cancelled, answer.requested, answer.ended) == expected

    @precondition(lambda self: self.model.jobs)
    @rule(n=nth)
    def retry_by_hand(self, n: int) -> None:
        name = self.some_job(n)
        answer = self.call(retry.retry_job, name, self.now)
        expected = self.expect(commands.retry, name, (self.new_ids() or ["?"])[0], self.now)
        assert expected is None or (answer.id, answer.state, answer.generation, answer.existing) == expected

    @precondition(lambda self: self.model.groups)
    @rule(n=nth, rest=st.booleans())
    def retry_group(self, n: int, rest: bool) -> None:
        name = self.pick(list(self.model.groups), n)
        answer = self.call(group_jobs.retry_group, name, self.now, rest)
        expected = self.expect(again.retry_group, name, self.now, rest)
        assert expected is None or [(one.id, one.state) for one in answer] == expected

    @rule(action=st.sampled_from(BulkAction), fields=fields, limit=wishes.limits, dry_run=st.booleans(), n=nth)
    def bulk(self, action: BulkAction, fields: dict[str, str], limit: int, dry_run: bool, n: int) -> None:
        wanted = JobFilter(**fields)
        answer = self.call(bulk, action, wanted, self.now, limit, dry_run, n)
        jobs = self.expect(commands.bulk, action, wanted, self.now, limit, dry_run, n, self.new_ids())
        assert (answer.jobs, answer.dry_run) == (jobs, dry_run)

    # Order

    @precondition(lambda self: self.model.jobs)
    @rule(n=nth, other=nth, how=st.sampled_from(("top", "bottom", "before", "after")), times=st.sampled_from((1, 1, 9)))
    def move(self, n: int, other: int, how: str, times: int) -> None:
        """Many times beside the same one, two jobs in turn, so that the gap runs out."""
        beside = self.waiting_job(other)
        for turn in range(times):
            name = self.waiting_job(n + turn % 2)
            match how:
                case "top":
                    self.call(reorder.move_to_top, name)
                    self.expect(lanes.move_to_top, name)
                case "bottom":
                    self.call(reorder.move_to_bottom, name)
                    self.expect(lanes.move_to_bottom, name)
                case _:
                    self.call(reorder.move_before if how == "before" else reorder.move_after, name, beside)
                    self.expect(lanes.move_beside, name, beside, how == "before")
                    self._is_beside(name, beside, how == "before")

    def _is_beside(self, name: str, other: str, before: bool) -> None:
        line: list[str] = self.store["ready"].get(self.model.jobs[name].line[:2], [])
        if name != other and name in line and other in line:
            assert line.index(other) - line.index(name) == (1 if before else -1), line

    @precondition(lambda self: self.model.jobs)
    @rule(n=nth, to=st.one_of(wishes.priorities, wishes.payloads, wishes.queues))
    def change(self, n: int, to: int | str) -> None:
        """Give a job another priority or payload, or renumber a queue."""
        name = self.some_job(n)
        if isinstance(to, int):
            self.call(reorder.set_priority, name, to)
            self.expect(lanes.set_priority, name, to)
        elif to in wishes.QUEUES:
            line = (str(to), self.pick(wishes.TENANTS, n), n % 2 * 5)
            self.call(reorder.renormalise, *line)
            self.expect(lanes.renormalise, *line)
        elif self.model.jobs[name].ask.queue in wishes.QUEUES:
            self.call(reorder.edit_payload, name, to)
            self.expect(lanes.edit_payload, name, to)

    # Queues and reservations

    @rule(queue=wishes.queues, limit=st.sampled_from((None, "resume", None, "resume", 1, 2, "pause", 0)))
    def set_queue(self, queue: str, limit: int | str | None) -> None:
        """Pause, resume, limit, or lift the limit."""
        match limit:
            case "pause":
                self.call(queues.pause, queue, "why not", self.now)
                self.expect(lambda model: model.paused.add(queue))
            case "resume":
                self.call(queues.resume, queue, self.now)
                self.expect(queue_limits.resume, queue, self.now)
            case None | int():
                self.call(queues.set_limit, queue, limit)
                self.expect(queue_limits.set_limit, queue, limit)

    @rule(queue=wishes.queues, changes=changes)
    def set_up_queue(self, queue: str, changes: QueueChanges) -> None:
        """How many start within a time, how many may wait, and how often those are tried again that do not say."""
        self.call(queues.set_queue, queue, changes)
        self.expect(queue_limits.set_queue, queue, changes)

    @rule(tenant=wishes.tenants, queue=st.none() | wishes.queues, weight=weights)
    def weigh(self, tenant: str, queue: str | None, weight: int | str) -> None:
        """Somebody's word counts more or less, by its weight or because he is at work."""
        if isinstance(weight, int):
            self.call(tenants.set_weight, tenant, weight, queue)
            self.expect(fairness.set_weight, tenant, weight, queue)
        else:
            until = self.call(tenants.note_activity, tenant, self.now, 60_000)
            assert until == self.expect(fairness.note_activity, tenant, self.now, 60_000)

    @rule(n=nth, scope=wishes.queues | st.just(EVERYTHING), ttl=wishes.spans, how=st.sampled_from(("grant", "release")))
    def reserve(self, n: int, scope: str, ttl: int, how: str) -> None:
        """Ask for a scope; or see what becomes of one, so that a queue is not reserved most of the time."""
        live = [name for name, held in self.model.held.items() if held.status in ("ACTIVE", "WAITING")]
        if live and n > 3:
            name = self.pick(live, n)
            self.call(reserve.release if how == "release" else reservations.grant, name, self.now)
            self.expect(queue_limits.release if how == "release" else queue_limits.grant, name, self.now)
        else:
            session = self.pick(list(self.model.sessions), n)
            request = NewReservation(self.fresh("r"), scope, "me", session, ttl, ttl, n % 2 == 0)
            self.call(reserve.reserve, request, self.now)
            self.expect(queue_limits.reserve, request, self.now)
