"""SIGTERM to a program in `hf.run()`: it stops in order, fails nobody's job, and changes none that waits."""

from __future__ import annotations

import asyncio
import signal
from contextlib import suppress
from pathlib import Path
from typing import Any

from holdfast import Context, Holdfast, StateName
from holdfast.runtime.clock import SystemClock
from holdfast.store.engine import Engine
from holdfast.tasks.schema import PayloadSchema
from holdfast.tasks.spec import TaskSpec
from holdfast.workers.exchange import ExchangeLoop
from tests.chaos.conftest import Start
from tests.chaos.database import Database, recovery, select, sessions
from tests.chaos.journal import entries
from tests.chaos.processes import PATIENCE_S, Program, until
from tests.chaos.scenarios.shared import begin, job, put

FOREVER = 3600


def running(start: Start, database: Database, folder: Path, short: float, grace: float, *tasks: str) -> Program:
    """A program in which these tasks run."""
    program = start("stopping", *database.args, folder, short, grace, *tasks)
    until(lambda: len(entries(folder, "start")) == len(tasks), "the jobs run")
    return program


def has_announced(engine: Engine) -> bool:
    return any(session["stop_requested_at"] is not None for session in sessions(engine))


def outcome(engine: Engine, task: str) -> tuple[Any, ...]:
    """What became of the job of a task: its state, what it is charged, and its runs."""
    [job] = select(engine, "SELECT * FROM jobs WHERE job_type = :task", task=task)
    runs = select(engine, "SELECT status FROM job_runs WHERE job_id = :id", id=job["id"])
    return (job["state"], job["transient_tries"] + job["infra_tries"], [run["status"] for run in runs])


def waiting(engine: Engine) -> list[dict[str, Any]]:
    return select(engine, "SELECT * FROM jobs WHERE job_type = 'waiting' ORDER BY number")


def test_short_work_ends_and_long_work_yields_uncharged(
    database: Database, engine: Engine, folder: Path, start: Start
) -> None:
    program = running(start, database, folder, 0.2, FOREVER, "short", "long")
    before = waiting(engine)
    program.send(signal.SIGTERM)
    until(lambda: has_announced(engine), "it has heard the signal")
    (folder / "finish").touch()
    program.end_well()
    assert outcome(engine, "short") == ("DONE", 0, ["COMPLETED"])
    assert outcome(engine, "long") == ("QUEUED", 0, ["YIELDED"])
    assert waiting(engine) == before
    assert [session["status"] for session in sessions(engine)] == ["success"]


def test_short_work_is_waited_for(database: Database, engine: Engine, folder: Path, start: Start) -> None:
    program = running(start, database, folder, FOREVER, 0, "short")
    program.send(signal.SIGTERM)
    until(lambda: has_announced(engine), "it has heard the signal")
    assert program.is_running
    (folder / "finish").touch()
    program.end_well()
    assert outcome(engine, "short") == ("DONE", 0, ["COMPLETED"])


def test_a_function_that_takes_no_notice_goes_back_uncharged_when_its_process_is_gone(
    database: Database, engine: Engine, folder: Path, start: Start
) -> None:
    program = running(start, database, folder, 0, 0, "deaf")
    program.send(signal.SIGTERM)
    program.end_well()
    assert outcome(engine, "deaf") == ("RUNNING", 0, [None])
    asyncio.run(recovery(engine).tick())
    assert outcome(engine, "deaf") == ("QUEUED", 0, ["YIELDED"])
    assert [session["status"] for session in sessions(engine)] == ["unknown"]


def test_the_run_stays_open_while_the_process_lives(
    database: Database, engine: Engine, folder: Path, start: Start
) -> None:
    program = running(start, database, folder, 0, FOREVER, "deaf")
    program.send(signal.SIGTERM)
    until(lambda: has_announced(engine), "it has heard the signal")
    asyncio.run(recovery(engine).tick())
    assert outcome(engine, "deaf") == ("RUNNING", 0, [None])
    program.kill()
    asyncio.run(recovery(engine).tick())
    assert outcome(engine, "deaf") == ("QUEUED", 0, ["YIELDED"])


def test_a_coroutine_that_takes_no_notice_goes_back_with_the_end_of_its_loop(
    database: Database, engine: Engine
) -> None:
    hf = Holdfast(database.target, schema=database.schema)

    @hf.task
    async def stubborn(ctx: Context) -> int:
        while ctx.attempt == 1:
            with suppress(asyncio.CancelledError):
                await asyncio.Event().wait()
        return ctx.attempt

    hf.start()
    handle = stubborn.enqueue()
    until(lambda: handle.state is StateName.RUNNING, "it runs")
    hf.stop(short=0, grace=0)
    assert outcome(engine, "stubborn") == ("QUEUED", 0, ["YIELDED"])
    with hf:
        assert handle.result(PATIENCE_S) == 2
    hf.close()
    assert [session["status"] for session in sessions(engine)] == ["success"] * 2


def test_a_job_that_is_claimed_while_the_stop_begins_goes_back_unstarted(engine: Engine) -> None:
    async def stop_in_the_middle() -> None:
        begin(engine, "s")
        put(engine, job("late"))
        exchange = ExchangeLoop(engine, SystemClock(), "s", "w", {"work": spec}, {"default": 1})
        claiming = asyncio.create_task(exchange.exchange_once())
        await asyncio.sleep(0)
        exchange.stop_claiming()
        assert not exchange.is_idle
        assert await claiming == 1
        assert not exchange.is_idle
        await exchange.exchange_once()
        assert exchange.is_idle
        exchange.close()

    spec = TaskSpec("work", "default", fail, PayloadSchema("work", fail, skip_first=False), False, ())
    asyncio.run(stop_in_the_middle())
    assert outcome(engine, "work") == ("QUEUED", 0, ["YIELDED"])


def fail() -> None:
    raise AssertionError("it should not have started")


def test_a_second_signal_hurries(database: Database, engine: Engine, folder: Path, start: Start) -> None:
    program = running(start, database, folder, FOREVER, FOREVER, "short", "long", "deaf")
    before = waiting(engine)
    program.send(signal.SIGTERM)
    until(lambda: has_announced(engine), "it has heard the first signal")
    assert program.is_running
    program.send(signal.SIGTERM)
    program.end_well()
    assert entries(folder, "stopped")
    asyncio.run(recovery(engine).tick())
    for task in ("short", "long", "deaf"):
        assert outcome(engine, task) == ("QUEUED", 0, ["YIELDED"])
    assert waiting(engine) == before
