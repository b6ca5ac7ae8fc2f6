"""The meter: what counts as which figure, and when a promise is judged."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from holdfast.core.job import Millis
from holdfast.core.jobs.requests import Claimed, ClaimRequest, NewJob, QueueSlots, Report
from holdfast.core.jobs.settle import Broke, Completed, Outcome
from holdfast.core.messages.machines import TokenSetting
from holdfast.core.messages.sessions import NewSession, Offer
from holdfast.core.rules.tokens import Tokens
from holdfast.core.settings.queue_changes import QueueChanges
from holdfast.core.values.retry import Failure, FailureKind, RetryPolicy
from holdfast.daemon.instruments import promises
from holdfast.daemon.meter import Meter
from holdfast.daemon.settings.settings import SlaSettings
from holdfast.daemon.watching import SlaWatch
from holdfast.observe.metrics import Metrics
from holdfast.observe.sla import Measure, Promise, PromiseVerdict, Sla
from holdfast.runtime.clock import ManualClock
from holdfast.store.engine import Engine
from holdfast.store.scripts.jobs.enqueue import enqueue
from holdfast.store.scripts.maintenance.clockwork import tick
from holdfast.store.scripts.queues.queues import resume, set_queue
from holdfast.store.scripts.queues.tenants import set_weight
from holdfast.store.scripts.runs.exchange import exchange
from holdfast.store.scripts.sessions.recover import recover
from holdfast.store.scripts.sessions.sessions import close_session, open_session
from holdfast.store.sqlite.engine import SqliteEngine
from holdfast.wire.calls import call_of
from tests.store.acts import settle

DONE = Completed("null")
KILLED = Broke(Failure(FailureKind.INFRA, "SIGNAL_9", "it was killed"))
BROKEN = Broke(Failure(FailureKind.TRANSIENT, "ERR_TEST", "it broke"))


class Bench:
    """A meter on a real store, and a worker that exchanges with it."""

    def __init__(self, engine: Engine, clock: ManualClock) -> None:
        self.engine = engine
        self.clock = clock
        self.metrics = Metrics()
        self.sla = Sla([Promise("queue_to_run", 200.0, Measure.MEAN, fewest=1), Promise("pop", 20.0, fewest=1)])
        self.meter = Meter(engine, clock, self.metrics, self.sla)
        engine.watch(self.meter.committed)
        self._jobs = 0

    def put(self, **options: object) -> None:
        """Enqueue one job now."""
        self._jobs += 1
        job = NewJob(id=f"job-{self._jobs}", task="t", **options)
        self.engine.submit(enqueue, [job], self.clock.now()).result()

    def exchange(self, *ended: tuple[Claimed, Outcome], slots: int = 1, seconds: float = 0.001) -> list[Claimed]:
        """Report and claim, as the daemon lets a worker do it."""
        reports = [Report(run.run_id, run.job_id, outcome, 7) for run, outcome in ended]
        request = ClaimRequest(
            session_id="s1", slots=slots, queues=(QueueSlots("default", slots),), tasks=("t",), worker_id="w1"
        )
        said = self.engine.submit(exchange, reports, [], request, None, self.clock.now()).result()
        self.meter.exchanged(reports, said, seconds)
        return said.claimed

    def verdict(self, name: str) -> PromiseVerdict | None:
        """How a promise stands, if it can be judged."""
        settle(self.engine)
        return next((found for found in self.sla.judge(self.clock.monotonic()) if found.promise.name == name), None)

    def sample(self, name: str, **labels: str) -> float:
        """One figure as Prometheus reads it."""
        settle(self.engine)
        families = text_string_to_metric_families(asyncio.run(self.meter.text()).decode())
        found = [sample for family in families for sample in family.samples if sample.name == f"holdfast_{name}"]
        return sum(sample.value for sample in found if labels.items() <= sample.labels.items())


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    clock = ManualClock()
    engine = SqliteEngine(tmp_path / "work.db", durability="normal", now=clock.now)
    tokens = TokenSetting(tokens=Tokens(cpu=4))
    session = NewSession("s1", "worker", "node", "boot", 1, None, tokens)
    engine.submit(open_session, session, Offer("w1", "worker", ("t",), ("default",), 9), clock.now()).result()
    yield Bench(engine, clock)
    engine.close()


def test_the_life_of_a_job_is_counted(bench: Bench) -> None:
    bench.put()
    bench.clock.advance(3)
    [run] = bench.exchange()
    bench.exchange((run, DONE))
    assert bench.sample("jobs_enqueued_total", queue="default") == 1
    assert bench.sample("queue_wait_ms_sum", queue="default") == 3_000
    assert bench.sample("job_duration_ms_sum", queue="default", state="DONE") == 7
    assert bench.sample("jobs_done_total") == 1


def test_the_time_in_which_nobody_ran_is_nobodys_wait(tmp_path: Path) -> None:
    clock = ManualClock()
    engine = SqliteEngine(tmp_path / "work.db", durability="normal", now=clock.now)

    def live(session_id: str, seconds: float) -> None:
        """A daemon comes, and goes."""
        engine.run(open_session, NewSession(session_id, "daemon", "node", "boot", 1, None), None, clock.now())
        clock.advance(seconds)
        engine.run(close_session, session_id, "success", clock.now())

    engine.run(enqueue, [NewJob(id="a", task="t")], clock.now())
    clock.advance(100)
    for session_id in ("d1", "d2"):
        live(session_id, 7)
        clock.advance(100)
    engine.run(open_session, NewSession("s1", "daemon", "node", "boot", 1, None), None, clock.now())
    bench = Bench(engine, clock)
    asyncio.run(bench.meter.learn_attendance())
    clock.advance(3)
    bench.exchange()
    assert bench.sample("queue_wait_ms_sum", queue="default") == 17_000
    engine.close()


def test_a_run_that_will_be_tried_again_is_no_failed_job(bench: Bench) -> None:
    bench.put(policy=RetryPolicy(retries=1))
    [run] = bench.exchange()
    bench.exchange((run, BROKEN))
    assert (bench.sample("runs_retried_total"), bench.sample("jobs_failed_total")) == (1, 0)


def test_a_result_that_is_sent_again_is_counted_once(bench: Bench) -> None:
    bench.put()
    [run] = bench.exchange()
    bench.exchange((run, DONE))
    bench.exchange((run, DONE))
    assert bench.sample("job_duration_ms_count") == 1
    assert bench.sample("reports_refused_total") == 0


def test_a_result_that_comes_too_late_is_counted_as_refused(bench: Bench) -> None:
    bench.put()
    [run] = bench.exchange()
    bench.engine.submit(recover, "s1", False, bench.clock.now()).result()
    bench.exchange((run, DONE))
    assert bench.sample("reports_refused_total") == 1


def test_tokens_that_are_taken_are_counted_and_those_in_use_looked_up(bench: Bench) -> None:
    bench.put(tokens=Tokens(cpu=3))
    [run] = bench.exchange()
    assert bench.sample("tokens_in_use", node="node", kind="cpu") == 3
    assert bench.sample("tokens_capacity", node="node", kind="cpu") == 4
    bench.exchange((run, DONE))
    assert bench.sample("tokens_in_use", node="node", kind="cpu") == 0
    assert bench.sample("tokens_acquired_total", kind="cpu") == 3


def test_what_waits_and_runs_is_looked_up(bench: Bench) -> None:
    bench.put()
    bench.put()
    bench.exchange()
    assert bench.sample("queue_depth", queue="default", state="QUEUED") == 1
    assert bench.sample("queue_depth", queue="default", state="RUNNING") == 1
    assert bench.sample("active_workers") == 1
    assert bench.sample("wal_size_bytes") > 0


def test_what_the_machine_is_to_blame_for_is_counted_and_who_is_held_back_is_looked_up(bench: Bench) -> None:
    bench.engine.submit(set_queue, "default", QueueChanges(breaker=2)).result()
    for _ in range(2):
        bench.put(policy=RetryPolicy(infra=0))
        [run] = bench.exchange()
        bench.exchange((run, KILLED))
    assert bench.sample("infra_failures_total", queue="default") == 2
    assert bench.sample("breaker_open", queue="default", state="open") == 1
    bench.clock.advance(30)
    assert bench.sample("breaker_open", queue="default", state="half-open") == 1
    assert bench.sample("breaker_open", queue="default", state="open") == 0


def test_a_poison_pill_is_counted(bench: Bench) -> None:
    bench.put(policy=RetryPolicy(infra=9, initial_ms=0))
    for _ in range(3):
        [run] = bench.exchange()
        bench.exchange((run, Broke(KILLED.failure, death=True)))
        bench.engine.submit(tick, bench.clock.now()).result()
    assert bench.sample("jobs_parked_total", queue="default") == 1


def test_a_wait_behind_a_breaker_says_nothing_about_how_fast_we_are(bench: Bench) -> None:
    bench.engine.submit(set_queue, "default", QueueChanges(breaker=1)).result()
    bench.put(policy=RetryPolicy(infra=0))
    [run] = bench.exchange()
    bench.exchange((run, KILLED))
    bench.clock.advance(1)
    bench.put()
    bench.clock.advance(29)
    bench.engine.submit(tick, bench.clock.now()).result()
    before = bench.verdict("queue_to_run")
    assert len(bench.exchange()) == 1
    assert bench.verdict("queue_to_run") == before


def test_shares_asked_and_received_are_looked_up(bench: Bench) -> None:
    for tenant in ("a", "a", "b", "b"):
        bench.put(tenant=tenant)
    bench.engine.submit(set_weight, "a", 30).result()
    bench.exchange()
    assert bench.sample("tenant_share", queue="default", tenant="a") == 0.75
    assert bench.sample("tenant_starts_total", queue="default") == 1


def test_the_way_to_its_run_counts_while_nothing_else_runs(bench: Bench) -> None:
    bench.put()
    bench.clock.advance(0.5)
    bench.exchange()
    verdict = bench.verdict("queue_to_run")
    assert verdict is not None
    assert (verdict.value_ms, verdict.is_broken) == (500, True)


def test_a_job_that_waited_for_another_says_nothing_about_an_idle_system(bench: Bench) -> None:
    bench.put()
    [first] = bench.exchange()
    bench.put()
    bench.clock.advance(30)
    bench.exchange((first, DONE))
    verdict = bench.verdict("queue_to_run")
    assert verdict is not None
    assert (verdict.samples, verdict.value_ms) == (1, 0)


def test_a_job_that_waited_for_a_gate_says_nothing_either(bench: Bench) -> None:
    bench.put()
    bench.clock.advance(3_600)
    bench.meter.called(call_of(resume), 0.001, 200)
    bench.exchange()
    assert bench.verdict("queue_to_run") is None


def test_runs_of_a_worker_that_died_do_not_make_the_system_busy_for_ever(bench: Bench) -> None:
    bench.put(policy=RetryPolicy(infra=0))
    bench.exchange()
    bench.engine.submit(recover, "s1", True, bench.clock.now()).result()
    session = NewSession("s2", "worker", "node", "boot", 1, None)
    bench.engine.submit(open_session, session, None, bench.clock.now()).result()
    asyncio.run(bench.meter.forget_lost_runs())
    bench.clock.advance(1)
    before = bench.verdict("queue_to_run")
    assert before is not None
    claimed = _claim_as(bench, "s2", bench.clock.now())
    assert claimed
    after = bench.verdict("queue_to_run")
    assert after is not None
    assert after.samples == before.samples + 1


def _claim_as(bench: Bench, session: str, now: Millis) -> list[Claimed]:
    bench.put()
    request = ClaimRequest(session_id=session, slots=1, queues=(QueueSlots("default", 1),), tasks=("t",))
    said = bench.engine.submit(exchange, [], [], request, None, now).result()
    bench.meter.exchanged([], said, 0.001)
    return said.claimed


def test_an_exchange_counts_as_a_pop_only_if_it_hands_something_out(bench: Bench) -> None:
    bench.exchange(seconds=5)
    assert bench.verdict("pop") is None
    bench.put()
    bench.exchange(seconds=0.030)
    verdict = bench.verdict("pop")
    assert verdict is not None
    assert (verdict.value_ms, verdict.is_broken) == (30, True)


def test_a_change_that_becomes_a_job_is_measured(bench: Bench) -> None:
    bench.sla = bench.meter._sla = Sla([Promise("event_to_job", 1_000.0, Measure.MEAN, fewest=1)])
    bench.meter.planned(0.25)
    bench.meter.planned(2.5)
    verdict = bench.verdict("event_to_job")
    assert verdict is not None
    assert (verdict.value_ms, verdict.is_broken) == (1_375.0, True)
    assert bench.sample("event_to_job_seconds_count") == 2


def test_a_call_that_fails_is_no_sample_of_how_fast_calls_are(bench: Bench) -> None:
    bench.sla = bench.meter._sla = Sla([Promise("enqueue", 10.0, fewest=1)])
    bench.meter.called(call_of(enqueue), 5, 503)
    assert bench.verdict("enqueue") is None
    bench.meter.called(call_of(enqueue), 0.005, 201)
    assert bench.verdict("enqueue") is not None
    assert bench.sample("api_errors_total", call="enqueue", status="503") == 1


def test_a_broken_promise_is_a_line_and_a_count(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    async def watch() -> None:
        watching = SlaWatch(bench.clock, bench.sla, bench.metrics, bench.meter)
        await watching.tick()
        bench.clock.advance(10)
        await watching.tick()

    bench.sla.sample("pop", 500, bench.clock.monotonic())
    with caplog.at_level(logging.WARNING, "holdfast.sla"):
        asyncio.run(watch())
    [record] = caplog.records
    assert record.getMessage() == "pop is slow: p95 500.0 ms, promised 20 ms"
    assert record.__dict__["event"] == "sla_breach"
    assert bench.sample("sla_breaches_total", sla="pop") == 2


def test_the_limits_of_the_settings_are_the_promises() -> None:
    limits = {promise.name: promise.limit_ms for promise in promises(SlaSettings(enqueue=0.5))}
    assert limits == {"enqueue": 500, "look": 20, "pop": 20, "queue_to_run": 200, "event_to_job": 1000}
