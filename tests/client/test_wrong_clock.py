"""Programs on PostgreSQL whose machine has a wrong clock go by the server's, and harm nobody."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime, timedelta

import pytest

from holdfast import Holdfast
from holdfast.runtime.clocks.database_clock import DatabaseClock

HOUR = 3_600_000
PROGRAM = """
import sys, time, logging
from datetime import timedelta

logging.basicConfig(format="%(message)s")
real, off = time.time_ns, int(sys.argv[3]) * 1_000_000_000
time.time_ns = lambda: real() + off

from holdfast import Holdfast

hf = Holdfast(sys.argv[1], schema=sys.argv[2])

@hf.task
def work(x: int = 0) -> None:
    print("ran", x)

work.options(delay=timedelta(hours=1)).enqueue(x=2)
with hf:
    assert work.enqueue(x=1).result(timeout=60) is None
hf.drain()
hf.close()
"""


@pytest.mark.parametrize("off", [2 * 3_600, -2 * 3_600])
def test_a_machine_with_a_wrong_clock_runs_nothing_early_and_ends_nothing(
    postgres_url: str, postgres_schema: str, off: int
) -> None:
    hf = Holdfast(postgres_url, schema=postgres_schema)

    @hf.task
    def work(x: int = 0) -> None:
        pass

    in_an_hour = datetime.now(UTC) + timedelta(hours=1)
    later = work.options(delay=timedelta(hours=1)).enqueue()
    alive = work.options(queue="other", ttl=timedelta(hours=1), deadline=in_an_hour).enqueue()
    words = [sys.executable, "-c", PROGRAM, postgres_url, postgres_schema, str(off)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
    assert (done.stdout, done.returncode) == ("ran 1\n", 0), done.stderr
    assert f"the clock of this machine is {abs(off)}" in done.stderr
    assert [later.job.state.name, alive.job.state.name] == ["SCHEDULED", "QUEUED"]
    theirs = [job for job in hf.jobs().jobs if job.id not in (later.id, alive.id)]
    assert len(theirs) == 2
    assert all(abs(job.created_at - time.time() * 1000) < HOUR for job in theirs)
    hf.close()


def test_the_first_call_does_not_stop_the_event_loop(postgres_url: str, postgres_schema: str) -> None:
    hf = Holdfast(postgres_url, schema=postgres_schema)
    clock, opened_in = hf._access.clock, list[str]()
    assert isinstance(clock, DatabaseClock)
    really_open = clock.open

    def open_elsewhere() -> None:
        opened_in.append(threading.current_thread().name)
        really_open()

    clock.open = open_elsewhere

    async def work() -> None:
        await hf.aemit("x")
        await hf.aclose()

    asyncio.run(work())
    assert opened_in
    assert threading.current_thread().name not in opened_in
