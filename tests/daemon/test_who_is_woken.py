"""A job wakes the workers that can run it, whatever brought it; and no other."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from time import monotonic

import pytest

from holdfast import Context, Holdfast, JobHandle, Retry
from holdfast.client import waiting
from holdfast.runtime.clock import SystemClock
from holdfast.runtime.parts import Parts, commits_of
from holdfast.runtime.upkeep import Upkeep
from holdfast.store.engine import Engine, new_uuid
from holdfast.store.postgres.engine import PostgresEngine
from holdfast.store.scripts.jobs.enqueue import enqueue
from holdfast.store.sqlite import write_connection
from holdfast.store.sqlite.engine import SqliteEngine
from holdfast.store.statements import Dialect
from holdfast.wire.home import HOME
from holdfast.workers import exchange
from tests.api.running import RunningApi, running_api
from tests.chaos.processes import PATIENCE_S, until
from tests.daemon.house import House
from tests.migrated import copy_migrated
from tests.store.acts import new_job

NEVER_S = 3_600.0
LOOK_AGAIN_S = exchange.LOOK_AGAIN_S  # in the daemon's own processes, which nobody patches
AT_ONCE = Retry(1, initial=0, factor=1)


@pytest.fixture(autouse=True)
def nobody_looks_by_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """A wake-up that is lost stays lost."""
    monkeypatch.setattr(exchange, "LOOK_AGAIN_S", NEVER_S)
    monkeypatch.setattr(waiting, "LOOK_AGAIN_S", NEVER_S)
    monkeypatch.setattr(write_connection, "SURE_POLL_S", NEVER_S)


@pytest.fixture(params=list(Dialect))
def new_engine(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], Engine]:
    """Makes engines on one database, each as another process has it."""
    now = SystemClock().now
    if request.param is Dialect.SQLITE:
        path = copy_migrated(tmp_path / "store.db")
        return lambda: SqliteEngine(path, durability="normal", now=now)
    url, schema = request.getfixturevalue("postgres_url"), request.getfixturevalue("postgres_schema")
    return lambda: PostgresEngine(url, schema=schema, durability="normal", now=now)


@contextmanager
def daemon_on(engine: Engine) -> Iterator[RunningApi]:
    """An API with the loops that promote jobs and fire schedules."""
    with running_api(engine) as api:

        async def begin() -> Parts:
            upkeep = Upkeep(engine, SystemClock(), api.session_id)
            await upkeep.prepare()
            parts = Parts(upkeep.parts)
            await parts.start(commits_of(engine))
            return parts

        parts = api.do(begin())
        try:
            yield api
        finally:
            api.do(parts.stop())


def worker(api: RunningApi, task: str, monkeypatch: pytest.MonkeyPatch) -> Holdfast:
    """A program that runs one task of the queue that all share. Every retried job of it fails at first."""
    monkeypatch.setitem(os.environ, HOME, str(api.home.folder))
    hf = Holdfast()

    @hf.task(name=task)
    def run(ctx: Context, fails: bool = False) -> int:
        if fails and ctx.attempt == 1:
            raise ConnectionError("not yet")
        return ctx.attempt

    return hf


def bring_jobs(hf: Holdfast, task: str, elsewhere: Engine) -> None:
    """A job by each way there is, one after the other; each starts, or this never ends."""

    def runs(job: JobHandle[int]) -> None:
        assert job.result(PATIENCE_S) in (1, 2)

    runs(hf.enqueue(task))
    for job in hf.group(*[hf.call(task)] * 3).jobs:
        runs(job)
    waiting_for_it = hf.enqueue(task, on_event=f"{task}:came")
    hf.emit(f"{task}:came")
    runs(waiting_for_it)
    runs(hf.enqueue(task, {"fails": True}, retry=AT_ONCE))
    for job in hf.group(*[hf.call(task)] * 3, mode="sequential").jobs:
        runs(job)
    schedule = hf.create_schedule(f"each-second-of-{task}", cron="* * * * * *", task=task)
    runs(hf.job(until(lambda: schedule.jobs().jobs, "it has fired")[0].id))
    schedule.delete()
    foreign = new_job(new_uuid(), task=task)
    elsewhere.submit(enqueue, [foreign], SystemClock().now()).result(PATIENCE_S)
    runs(hf.job(foreign.id))


def test_each_job_starts_whatever_brought_it(new_engine: Callable[[], Engine], monkeypatch: pytest.MonkeyPatch) -> None:
    with ExitStack() as stack:
        elsewhere = new_engine()
        stack.callback(elsewhere.close)
        api = stack.enter_context(daemon_on(new_engine()))
        left, right = (worker(api, task, monkeypatch) for task in ("left", "right"))
        for hf in (left, right):
            stack.callback(hf.close)
            hf.start()
            stack.callback(hf.stop)
        bring_jobs(right, "left", elsewhere)
        bring_jobs(left, "right", elsewhere)
        right.stop()
        kept = left.enqueue("right")
        bring_jobs(right, "left", elsewhere)
        right.start()
        assert kept.result(PATIENCE_S) == 1
        bring_jobs(left, "right", elsewhere)
        bring_jobs(right, "left", elsewhere)


def exchanges(house: House) -> int:
    """How many calls of workers the daemon has answered so far."""
    _, text = house.ask("GET", "/metrics")
    lines = [line for line in text.decode().splitlines() if line.startswith("holdfast_api_call_ms_count{")]
    return sum(round(float(line.split()[-1])) for line in lines if 'call="exchange"' in line)


def test_an_idle_worker_of_commands_is_left_alone_by_jobs_of_others(house: House) -> None:
    daemon = house.up()
    client = house.client()
    assert client.command("true").result(PATIENCE_S) is not None
    before, began = exchanges(house), monotonic()
    assert before > 0
    for _ in range(1_000):
        client.enqueue("of-a-program-that-does-not-run")
    # A worker looks by itself from time to time, however quiet it is.
    assert exchanges(house) - before <= 1 + (monotonic() - began) / LOOK_AGAIN_S
    house.down(daemon)
