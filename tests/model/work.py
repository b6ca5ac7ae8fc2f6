"""Rules of what programs do: enqueue, claim, finish, live, die, and let time pass."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import initialize, precondition, rule

from holdfast.core.group import GroupMode, OnFailure
from holdfast.core.requests import ClaimRequest, Dependency, NewJob, QueueSlots, Report
from holdfast.core.settle import Outcome
from holdfast.store.scripts import clockwork, groups, retention, sessions
from holdfast.store.scripts.claim import claim
from holdfast.store.scripts.enqueue import enqueue
from holdfast.store.scripts.exchange import exchange
from holdfast.store.scripts.finish import finish
from holdfast.store.scripts.recover import recover
from tests.model import commands, wishes
from tests.model.driver import Driver
from tests.model.model import Model
from tests.model.wishes import Wish, nth

asked = st.lists(wishes.wishes, min_size=1, max_size=4)
slots = st.integers(0, 4)
lanes = st.lists(st.tuples(wishes.queues, slots), min_size=1, max_size=2, unique_by=lambda lane: lane[0])
offers = st.sampled_from((wishes.TASKS, wishes.TASKS, wishes.TASKS[:1], wishes.TASKS[1:], ()))
deaths = st.sampled_from(("crash", "crash", "reboot", "orderly"))
EVERYTHING = [(queue, 9) for queue in wishes.QUEUES]


class Work(Driver):
    """Jobs come, run and end."""

    @rule(asked=asked)
    def enqueue(self, asked: list[Wish]) -> None:
        self._enqueue(asked)

    @rule(asked=asked)
    def enqueue_more(self, asked: list[Wish]) -> None:
        """Most of what happens is that jobs come and are worked off, so these rules are here twice."""
        self._enqueue(asked)

    def _enqueue(self, asked: list[Wish]) -> None:
        """One or many; a job may depend on an earlier one of the same call."""
        known = list(self.model.jobs)
        jobs: list[NewJob] = []
        for wish in asked:
            jobs.append(self._resolve(wish, known))
            known.append(jobs[-1].id)
        answer = self.call(enqueue, jobs, self.now)
        expected = self.expect(Model.enqueue, jobs, self.now)
        assert expected is None or expected == [(one.id, one.state, one.generation, one.existing) for one in answer]

    def _resolve(self, wish: Wish, known: list[str]) -> NewJob:
        group = None if wish.group is None or not self.model.groups else self.pick(list(self.model.groups), wish.group)
        # A member that is left out and loses a dependency at the same moment could be judged by either first.
        free = group is None or self.model.groups[group].on_failure is not OnFailure.SKIP
        return NewJob(
            **wish.options,
            id=self.fresh("j"),
            due=None if wish.due is None else self.now + wish.due,
            deadline=None if wish.deadline is None else self.now + wish.deadline,
            after=tuple(Dependency(self.pick(known, n), needs) for n, needs in wish.after if known and free),
            group_id=group,
        )

    @rule(mode=st.sampled_from(GroupMode), on_failure=st.sampled_from(OnFailure))
    def create_group(self, mode: GroupMode, on_failure: OnFailure) -> None:
        name = self.fresh("g")
        self.call(groups.create_group, name, None, mode, on_failure, self.now)
        self.expect(commands.create_group, name, mode, on_failure, self.now)

    # Sessions and their work

    @property
    def alive(self) -> list[str]:
        return [name for name, session in self.model.sessions.items() if session.status == "running"]

    @initialize()
    def begin(self) -> None:
        """There is always a session, so that no rule has to wait for one."""
        self.open_session()

    def open_session(self) -> None:
        name = self.fresh("s")
        self.call(sessions.open_session, sessions.NewSession(name, "worker", "n", "b", 1, None), None, self.now)
        self.expect(commands.open_session, name, self.now)

    @rule(n=nth, how=st.sampled_from(("open", "beat", "close")))
    def live(self, n: int, how: str) -> None:
        """A session begins, goes on, or ends in order if it owns no run."""
        name = self.pick(list(self.model.sessions), n)
        match how:
            case "open":
                self.open_session()
            case "beat":
                assert self.call(sessions.beat, name, self.now) == self.expect(commands.beat, name, self.now)
            case _:
                closed = self.call(sessions.close_session, name, "success", self.now)
                assert closed == self.expect(commands.close_session, name, "success")

    @rule(n=nth, lanes=lanes, slots=slots, tasks=offers)
    def claim(self, n: int, lanes: list[tuple[str, int]], slots: int, tasks: tuple[str, ...]) -> None:
        """Sessions that have ended try as well, now and then."""
        known = self.alive if n > 1 and self.alive else list(self.model.sessions)
        request = claim_request(self.pick(known, n), lanes, slots, tasks)
        answer = self.call(claim, request, self.now)
        assert [run.job_id for run in answer] == self.expect(Model.claim, request, self.now)

    @rule(n=nth, said=st.lists(wishes.outcomes, min_size=1, max_size=4))
    def work(self, n: int, said: list[Outcome]) -> None:
        self._work(n, said)

    @rule(n=nth, said=st.lists(wishes.outcomes, min_size=1, max_size=4))
    def work_more(self, n: int, said: list[Outcome]) -> None:
        self._work(n, said)

    def _work(self, n: int, said: list[Outcome]) -> None:
        """A worker takes what it can and ends it, one after the other."""
        if not self.alive:
            self.open_session()
        request = claim_request(self.pick(self.alive, n), EVERYTHING, len(said), wishes.TASKS)
        runs = self.call(claim, request, self.now)
        assert [run.job_id for run in runs] == self.expect(Model.claim, request, self.now)
        for run, outcome in zip(runs, said, strict=False):
            self._finish([Report(run.run_id, run.job_id, outcome, 5)])

    def _report(self, n: int, outcome: Outcome, *, late: bool = False) -> Report:
        runs = [name for name, run in self.model.runs.items() if late or run.status is None]
        run_id = self.pick(runs or ["nowhere"], n)
        return Report(run_id, self.model.runs[run_id].job if runs else "nowhere", outcome, 5)

    @precondition(lambda self: self.model.runs)
    @rule(said=st.lists(st.tuples(nth, wishes.outcomes), min_size=1, max_size=3), late=st.booleans())
    def finish(self, said: list[tuple[int, Outcome]], late: bool) -> None:
        """Several at once; one run may be named twice, with the same result or another. `late`: settled ones too."""
        self._finish([self._report(n, outcome, late=late) for n, outcome in said])

    def _finish(self, reports: list[Report]) -> None:
        answer = self.call(finish, reports, self.now)
        assert [(one.state, one.refused is not None) for one in answer] == self.expect(Model.finish, reports, self.now)

    @precondition(lambda self: self.alive)
    @rule(n=nth, said=st.lists(st.tuples(nth, wishes.outcomes), max_size=2), slots=slots, lost=st.booleans())
    def exchange(self, n: int, said: list[tuple[int, Outcome]], slots: int, lost: bool) -> None:
        """With `lost`, the answer before never arrived: the worker knows of no run but those it reports."""
        session = self.pick(self.alive, n)
        request = claim_request(session, EVERYTHING, slots, wishes.TASKS)
        reports = [self._report(one, outcome) for one, outcome in said]
        holds = [report.run_id for report in reports] if lost else None
        answer = self.call(exchange, reports, [], request, holds, self.now)
        expected = self.expect(commands.exchange, reports, request, holds, self.now)
        assert ([run.job_id for run in answer.claimed], {stop.run_id for stop in answer.stops}) == expected

    @rule(n=nth, death=deaths, limits=st.lists(wishes.limits, min_size=1, max_size=3), to_the_end=st.booleans())
    def lose_session(self, n: int, death: str, limits: list[int], to_the_end: bool) -> None:
        """A process is gone. Recovery goes in steps, and another one may go on where it was interrupted."""
        name = self.pick(list(self.model.sessions), n)
        if death == "orderly":
            self.call(sessions.note_stop_request, name, self.now)
            self.expect(commands.note_stop, name)
        for limit in limits:
            self._recover(name, death == "reboot", limit)
        while to_the_end and self._recover(name, death == "reboot", 2):
            pass

    def _recover(self, name: str, rebooted: bool, limit: int) -> bool:
        answer = self.call(recover, name, rebooted, self.now, limit)
        assert (answer.settled, answer.more) == self.expect(commands.recover, name, rebooted, self.now, limit)
        return bool(answer.more)

    # The clock

    @rule(span=wishes.spans, limit=wishes.limits | st.just(500))
    def let_time_pass(self, span: int, limit: int) -> None:
        self.now += span
        while self._tick(limit):
            pass

    @rule(span=st.sampled_from((-40_000, -2_000, 1_000, 90_000_000)), ticks=st.booleans())
    def set_the_clock(self, span: int, ticks: bool) -> None:
        """Somebody sets the wall clock, back or forward."""
        self.now += span
        if ticks:
            self._tick(500)

    def _tick(self, limit: int) -> bool:
        more: bool = self.call(clockwork.tick, self.now, limit).more
        assert more == self.expect(commands.tick, self.now, limit)
        return more

    @rule(age=st.sampled_from((40_000, 1_000, 0)), limit=wishes.limits | st.just(200))
    def forget_old(self, age: int, limit: int) -> None:
        before = self.now - age
        assert self.call(retention.forget_old, before, limit) == self.expect(commands.forget_old, before, limit)


def claim_request(session: str, lanes: list[tuple[str, int]], slots: int, tasks: tuple[str, ...]) -> ClaimRequest:
    """What a worker asks for."""
    queues = tuple(QueueSlots(queue, most) for queue, most in lanes)
    return ClaimRequest(session_id=session, slots=slots, queues=queues, tasks=tasks, worker_id="w")
