"""Rules of what programs do: enqueue, claim, finish, live, die, and let time pass."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import initialize, precondition, rule

from holdfast.core.job import WAITING
from holdfast.core.jobs.requests import Claimed, ClaimRequest, QueueSlots, Report
from holdfast.core.jobs.settle import Outcome
from holdfast.core.messages.machines import TokenSetting
from holdfast.core.messages.sessions import NewSession, Offer
from holdfast.core.values.group import Dependency, OnFailure
from holdfast.store.scripts.claiming.claim import claim
from holdfast.store.scripts.claiming.why import why
from holdfast.store.scripts.groups import groups
from holdfast.store.scripts.jobs.cancel import cancel_job
from holdfast.store.scripts.jobs.enqueue import enqueue
from holdfast.store.scripts.maintenance import clockwork, retention
from holdfast.store.scripts.runs.exchange import exchange
from holdfast.store.scripts.runs.finish import finish
from holdfast.store.scripts.sessions import sessions
from holdfast.store.scripts.sessions.recover import recover
from tests.model import commands, reasons, settling, wishes
from tests.model.driver import Driver
from tests.model.model import Model
from tests.model.news import WEBHOOK_QUEUE, WEBHOOK_TASK
from tests.model.records import Ask
from tests.model.tokens import HAS
from tests.model.wishes import Habits, Wish, nth


def some_wishes(habits: Habits) -> st.SearchStrategy[list[Wish]]:
    return st.lists(wishes.wishes(habits), min_size=1, max_size=4)


asked = st.runner().flatmap(lambda machine: some_wishes(machine.habits))
starts = wishes.habits.flatmap(lambda habits: st.tuples(st.just(habits), some_wishes(habits)))
outcomes = st.runner().flatmap(lambda machine: st.sampled_from(machine.habits.outcomes))
ends = st.lists(outcomes, min_size=1, max_size=4)
reported = st.tuples(nth, outcomes | st.sampled_from(wishes.OUTCOMES))
slots = st.integers(0, 4)
lanes = st.lists(st.tuples(wishes.queues, slots), min_size=1, max_size=2, unique_by=lambda lane: lane[0])
offers = st.sampled_from((wishes.TASKS, wishes.TASKS, wishes.TASKS[:1], wishes.TASKS[1:], ()))
deaths = st.sampled_from(("crash", "crash", "reboot", "orderly"))
TURN = "tenant's turn"
EVERYTHING = [(queue, 9) for queue in (*wishes.QUEUES, WEBHOOK_QUEUE)]
ALL_TASKS = (*wishes.TASKS, WEBHOOK_TASK)


class Work(Driver):
    """Jobs come, run and end."""

    @initialize(start=starts)
    def begin(self, start: tuple[Habits, list[Wish]]) -> None:
        """There is always a session and a job, so that most rules have something to work on."""
        self.habits, asked = start
        self.open_session()
        self._enqueue(asked)

    @rule(asked=asked)
    def enqueue(self, asked: list[Wish]) -> None:
        self._enqueue(asked)

    def _enqueue(self, asked: list[Wish]) -> None:
        """One or many; a job may depend on an earlier one of the same call."""
        known = list(self.model.jobs)
        jobs: list[Ask] = []
        for wish in asked:
            jobs.append(self._resolve(wish, known))
            known.append(jobs[-1].id)
        answer = self.call(enqueue, jobs, self.now)
        expected = self.expect(Model.enqueue, jobs, self.now)
        assert expected is None or expected == [(one.id, one.state, one.generation, one.existing) for one in answer]

    def _resolve(self, wish: Wish, known: list[str]) -> Ask:
        group = None if wish.group is None else self._some_group(wish.group)
        # A member that is left out and loses a dependency at the same moment could be judged by either first.
        free = group is None or self.model.groups[group].on_failure is not OnFailure.SKIP
        return Ask(
            **wish.options,
            id=self.fresh("j"),
            due=None if wish.due is None else self.now + wish.due,
            deadline=None if wish.deadline is None else self.now + wish.deadline,
            after=tuple(Dependency(self.pick(known, n), needs) for n, needs in wish.after if known and free),
            group_id=group,
        )

    def _some_group(self, n: int) -> str:
        """Usually the newest one; sometimes one is made."""
        if n > 1 and self.model.groups:
            return self.pick(list(self.model.groups), n // 8)
        name, rules = self.fresh("g"), (self.habits.mode, self.habits.on_failure)
        self.call(groups.create_group, name, None, *rules, self.now)
        self.expect(commands.create_group, name, *rules, self.now)
        return name

    # Sessions and their work

    @property
    def alive(self) -> list[str]:
        return [name for name, session in self.model.sessions.items() if session.status == "running"]

    def open_session(self) -> None:
        """Every other one is on the other machine."""
        name = self.fresh("s")
        node = wishes.NODES[len(self.model.sessions) % 2]
        offer = Offer(name, "w", ALL_TASKS, ("*",), 9)
        new = NewSession(name, "worker", node, "b", 1, None, TokenSetting(tokens=HAS))
        self.call(sessions.open_session, new, offer, self.now)
        self.expect(commands.open_session, name, node, self.now)

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
                assert closed == self.expect(commands.close_session, name, "success", self.now)

    @rule(n=nth, lanes=lanes, slots=slots, tasks=offers)
    def claim(self, n: int, lanes: list[tuple[str, int]], slots: int, tasks: tuple[str, ...]) -> None:
        """Sessions that have ended try as well, now and then."""
        known = self.alive if n > 1 and self.alive else list(self.model.sessions)
        self._claim(claim_request(self.pick(known, n), lanes, slots, tasks))

    @rule()
    def explain(self) -> None:
        """Each wait has its reasons; if there is none, whoever asks next is handed something of what waits."""
        self._tick_out()
        for job in self.model.find(*WAITING):
            told = {gate.gate for gate in self.place.engine.query(why, job.id, self.now).closed}
            expected = reasons.closed_gates(self.model, job, self.now)
            # Whose turn it is, is asked only if nothing else holds it.
            assert told in (expected, expected or {TURN}), f"job {job.id} is held by {told}, not {expected}"
        free = reasons.could_run(self.model, self.now)
        workers = [name for name in self.alive if not self.model.sessions[name].orderly]
        everywhere = [claim_request(name, EVERYTHING, 9, ALL_TASKS) for name in workers]
        taken = [run.job_id for request in everywhere for run in self._claim(request)]
        assert not free or set(free) & set(taken), f"nothing holds {free}, but {taken} were handed out"

    def _tick_out(self) -> None:
        while self._tick(500):
            pass

    def _claim(self, request: ClaimRequest) -> list[Claimed]:
        answer: list[Claimed] = self.call(claim, request, self.now)
        assert [run.job_id for run in answer] == self.expect(Model.claim, request, self.now)
        return answer

    @rule(asked=asked, n=nth, said=ends)
    def work(self, asked: list[Wish], n: int, said: list[Outcome]) -> None:
        self._enqueue(asked)
        self._work(n, said)

    @rule(n=nth, said=ends, span=wishes.spans)
    def wait_and_work(self, n: int, said: list[Outcome], span: int) -> None:
        self._let_time_pass(span, 500)
        self._work(n, said)

    @precondition(lambda self: self.alive)
    @rule(asked=asked, n=nth, said=ends, cancels=st.booleans(), span=wishes.spans | st.just(0))
    def disturb(self, asked: list[Wish], n: int, said: list[Outcome], cancels: bool, span: int) -> None:
        """While jobs run, somebody cancels one, others come, and time passes."""
        runs = self._claim(claim_request(self.pick(self.alive, n), EVERYTHING, len(said), ALL_TASKS))
        if cancels and runs:
            self.call(cancel_job, runs[0].job_id, self.now)
            self.expect(commands.cancel_job, runs[0].job_id, self.now)
        self._enqueue(asked)
        self.now += span
        self._finish_each(runs, said)

    def _work(self, n: int, said: list[Outcome]) -> None:
        """A worker takes what it can and ends it, one after the other."""
        if not self.alive:
            self.open_session()
        runs = self._claim(claim_request(self.pick(self.alive, n), EVERYTHING, len(said), ALL_TASKS))
        self._finish_each(runs, said)

    def _finish_each(self, runs: list[Claimed], said: list[Outcome]) -> None:
        for run, outcome in zip(runs, said, strict=False):
            self._finish([Report(run.run_id, run.job_id, outcome, 5)])

    def _report(self, n: int, outcome: Outcome, *, late: bool = False) -> Report:
        runs = [name for name, run in self.model.runs.items() if late or run.status is None]
        run_id = self.pick(runs or ["nowhere"], n)
        return Report(run_id, self.model.runs[run_id].job if runs else "nowhere", outcome, 5)

    @precondition(lambda self: self.model.runs)
    @rule(said=st.lists(reported, min_size=1, max_size=3), late=st.booleans())
    def finish(self, said: list[tuple[int, Outcome]], late: bool) -> None:
        """Several at once; one run may be named twice, with the same result or another. `late`: settled ones too."""
        self._finish([self._report(n, outcome, late=late) for n, outcome in said])

    def _finish(self, reports: list[Report]) -> None:
        answer = self.call(finish, reports, self.now)
        expected = self.expect(settling.finish, reports, self.now)
        assert [(one.state, one.refused is not None) for one in answer] == expected, f"{answer}, not {expected}"

    @precondition(lambda self: self.alive)
    @rule(n=nth, said=st.lists(reported, max_size=2), slots=slots, lost=st.booleans())
    def exchange(self, n: int, said: list[tuple[int, Outcome]], slots: int, lost: bool) -> None:
        """With `lost`, the answer before never arrived: the worker knows of no run but those it reports."""
        session = self.pick(self.alive, n)
        request = claim_request(session, EVERYTHING, slots, ALL_TASKS)
        reports = [self._report(one, outcome) for one, outcome in said]
        holds = [report.run_id for report in reports] if lost else None
        self._exchange(reports, request, holds)

    def _exchange(self, reports: list[Report], request: ClaimRequest, holds: list[str] | None) -> None:
        answer = self.call(exchange, reports, [], request, holds, self.now)
        expected = self.expect(commands.exchange, reports, request, holds, self.now)
        assert ([run.job_id for run in answer.claimed], {stop.run_id for stop in answer.stops}) == expected

    @rule(n=nth, death=deaths, limits=st.lists(wishes.limits, min_size=1, max_size=3), to_the_end=st.booleans())
    def lose_session(self, n: int, death: str, limits: list[int], to_the_end: bool) -> None:
        """A process is gone, or was long ago. Recovery goes in steps; another may go on where it was interrupted."""
        name = self.pick(list(self.model.sessions), n)
        if death == "orderly":
            self.call(sessions.note_stop_request, name, self.now)
            self.expect(commands.note_stop, name)
        for limit in limits:
            self._recover(name, death == "reboot", limit)
        while to_the_end and self._recover(name, death == "reboot", 2):
            pass

    @rule(asked=asked, slots=st.integers(1, 3), times=st.integers(1, 4), span=wishes.spans)
    def die_again_and_again(self, asked: list[Wish], slots: int, times: int, span: int) -> None:
        """Somebody takes jobs, every other time an answer gets lost, dies with them, and they come back."""
        self._enqueue(asked)
        for turn in range(times):
            self.open_session()
            session = list(self.model.sessions)[-1]
            self._claim(claim_request(session, EVERYTHING, slots, ALL_TASKS))
            if turn % 2:
                self._exchange([], claim_request(session, EVERYTHING, slots, ALL_TASKS), [])
            while self._recover(session, False, 2):
                pass
            self._let_time_pass(span, 500)

    def _recover(self, name: str, rebooted: bool, limit: int) -> bool:
        answer = self.call(recover, name, rebooted, self.now, limit)
        assert (answer.settled, answer.more) == self.expect(commands.recover, name, rebooted, self.now, limit)
        return bool(answer.more)

    # The clock

    @rule(span=wishes.spans, limit=wishes.limits | st.just(500))
    def wait(self, span: int, limit: int) -> None:
        self._let_time_pass(span, limit)

    def _let_time_pass(self, span: int, limit: int) -> None:
        self.now += span
        while self._tick(limit):
            pass

    @rule(span=st.sampled_from((-40_000, -2_000, 1_000, 90_000_000, -180_000_000)), ticks=st.booleans())
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
