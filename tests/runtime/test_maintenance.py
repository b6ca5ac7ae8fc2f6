"""The chores of a database are done in between, forget no more than they should, and stop when they are asked to."""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import apsw
import pytest

from holdfast import Holdfast
from holdfast.core.job import Done, Scheduled, StateName
from holdfast.core.jobs.stored_job import Job
from holdfast.core.machine.maintenance import HOUR_MS, MAINTENANCE, RULES, Chore, KeepTimes
from holdfast.core.messages.reservations import NewReservation
from holdfast.runtime import chores
from holdfast.runtime.chores import AT_ONCE, Chores, TryLater
from holdfast.runtime.clock import ManualClock
from holdfast.runtime.clocks.clock_trust import ClockTrust
from holdfast.runtime.maintenance import LATER_MS, Maintenance
from holdfast.store.engine import Engine
from holdfast.store.files import JobFiles
from holdfast.store.postgres.engine import PostgresEngine
from holdfast.store.scripts.jobs.cancel import cancel_job
from holdfast.store.scripts.jobs.dead_letters import list_dead_letters
from holdfast.store.scripts.maintenance.maintenance import list_chores, maintain
from holdfast.store.scripts.maintenance.retention import forget_old
from holdfast.store.scripts.queues.queues import pause
from holdfast.store.scripts.queues.reserve import reserve
from holdfast.store.scripts.reading.read_jobs import find_job
from holdfast.store.sqlite.engine import SqliteEngine
from holdfast.store.statements import Dialect
from tests.chaos.processes import ROOT, until
from tests.migrated import copy_migrated
from tests.store.acts import FAILED, claim_some, end, execute, open_session, put_and_end, put_one, runs, select

KEEP_MS = 1_000
KEPT = KeepTimes(KEEP_MS)

Hook = Callable[[], Awaitable[object]]


class Noticing(SqliteEngine):
    """Has something done right before the second step of a retention."""

    steps = 0
    before_the_second: Hook | None = None

    async def write(self, script: Callable[..., Any], *args: Any, **kw: Any) -> Any:
        if script is forget_old:
            self.steps += 1
            if self.steps == 2 and self.before_the_second is not None:
                await self.before_the_second()
        return await super().write(script, *args, **kw)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def engine(tmp_path: Path, clock: ManualClock) -> Iterator[Noticing]:
    made = Noticing(tmp_path / "work.db", durability="normal", now=clock.now, files=tmp_path / "elsewhere")
    open_session(made, now=clock.now())
    yield made
    made.close()


@pytest.fixture(params=list(Dialect))
def either(request: pytest.FixtureRequest, tmp_path: Path, clock: ManualClock) -> Iterator[Engine]:
    """Both kinds of database."""
    made: Engine
    if request.param is Dialect.SQLITE:
        made = SqliteEngine(
            copy_migrated(tmp_path / "work.db"), durability="normal", now=clock.now, files=tmp_path / "files"
        )
    else:
        url = request.getfixturevalue("postgres_url")
        made = PostgresEngine(url, schema=f"t_{uuid4().hex}", now=clock.now, files=tmp_path / "files")
    open_session(made, now=clock.now())
    yield made
    made.close()


def look_after(engine: Engine, clock: ManualClock, session: str = "s1") -> float:
    """Tick until there is nothing to do; in how many seconds to come back."""

    async def work() -> float:
        loop = Maintenance(engine, clock, session, KEPT, ClockTrust(clock))
        while not (wait := await loop.tick()):
            pass
        return wait

    return asyncio.run(work())


def do(engine: Engine, clock: ManualClock, chore: str) -> Job:
    """Have one chore done; its job."""
    look_after(engine, clock)
    [answer] = engine.run(maintain, chore, clock.now())
    look_after(engine, clock)
    assert answer.id is not None
    return engine.query(find_job, answer.id)


def did(job: Job) -> str | None:
    assert isinstance(job.state, Done)
    return job.state.result_summary


def touch(files: JobFiles, name: str, clock: ManualClock) -> None:
    """Files have the machine's time; here it is another one."""
    os.utime(files.of_job(name), (clock.now() / 1000, clock.now() / 1000))


def make_jobs(engine: Engine, clock: ManualClock, *names: str) -> JobFiles:
    """Jobs that have ended, each with a file."""
    files = JobFiles(engine.files)
    for name in names:
        put_one(engine, name, now=clock.now())
        files.artifact(name, "a.txt").write_text(name)
        touch(files, name, clock)
    for run in claim_some(engine, len(names), now=clock.now()):
        end(engine, run, now=clock.now())
    return files


def test_every_chore_can_be_done(either: Engine, clock: ManualClock) -> None:
    look_after(either, clock)
    either.run(maintain, "all", clock.now())
    if either.dialect is Dialect.SQLITE:
        either.run(maintain, "vacuum", clock.now())
    look_after(either, clock)
    views = either.query(list_chores)
    assert {view.chore: view.last and view.last.state.name for view in views} == {
        view.chore: StateName.DONE for view in views
    }


def test_what_ended_long_ago_is_forgotten_without_being_asked(either: Engine, clock: ManualClock) -> None:
    names = [f"j{number}" for number in range(AT_ONCE + 1)]
    files = make_jobs(either, clock, *names)
    clock.advance(KEEP_MS / 1000 + 1)
    look_after(either, clock)
    assert select(either, "SELECT 1 FROM jobs WHERE queue = 'default'") == []
    [view] = [view for view in either.query(list_chores) if view.chore is Chore.RETENTION]
    assert view.last is not None
    assert did(view.last) == f'{{"removed":{len(names)}}}'
    clock.advance(HOUR_MS / 1000)
    look_after(either, clock)
    assert files.jobs() == []


def test_the_files_go_with_their_jobs_and_others_stay(engine: Noticing, clock: ManualClock) -> None:
    make_jobs(engine, clock, "old")
    clock.advance(KEEP_MS / 1000 + 1)
    files = make_jobs(engine, clock, "new")
    look_after(engine, clock)
    assert did(do(engine, clock, "files")) == '{"removed":1,"left":0}'
    assert files.jobs() == ["new"]


def test_files_of_an_unknown_job_stay_for_as_long_as_those_of_a_known_one(engine: Noticing, clock: ManualClock) -> None:
    files = JobFiles(engine.files)
    files.artifact("elsewhere", "a")
    touch(files, "elsewhere", clock)
    do(engine, clock, "files")
    assert files.jobs() == ["elsewhere"]
    clock.advance(KEEP_MS / 1000 + 1)
    do(engine, clock, "files")
    assert files.jobs() == []


def test_a_bad_folder_ends_no_sweep_and_is_told(
    either: Engine, clock: ManualClock, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    files = JobFiles(either.files)
    for name in ("bad-1", "bad-2", "good"):
        files.artifact(name, "stuck" if name != "good" else "a").touch()
        touch(files, name, clock)
    # No job has such a name, and no database could be asked for some of them.
    strange = ["n" * 255, "%00", "%eda080", "%41", "%zz", "\udcff", "with space"]
    for name in strange:
        (files.folder / name).mkdir()
        os.utime(files.folder / name, (1, 1))
    unlink = os.unlink

    def fail(path: str, *, dir_fd: int | None = None) -> None:
        if path == "stuck":
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
        unlink(path, dir_fd=dir_fd)

    clock.advance(KEEP_MS / 1000 + 1)
    with monkeypatch.context() as patched, caplog.at_level(logging.WARNING, "holdfast.maintenance"):
        patched.setattr(os, "unlink", fail)
        assert did(do(either, clock, "files")) == '{"removed":1,"left":2}'
    assert sorted(files.jobs()) == ["bad-1", "bad-2"]
    assert sorted(os.listdir(files.folder)) == sorted(["bad-1", "bad-2", *strange])
    [line] = [record for record in caplog.records if record.__dict__.get("event") == "files_left"]
    assert line.getMessage() == f"files in {line.__dict__['folder']} cannot be removed (stuck: Permission denied)"
    assert did(do(either, clock, "files")) == '{"removed":2,"left":0}'


def test_a_job_that_still_waits_keeps_its_files(engine: Noticing, clock: ManualClock) -> None:
    put_one(engine, "waiting", now=clock.now())
    files = JobFiles(engine.files)
    files.artifact("waiting", "a")
    touch(files, "waiting", clock)
    clock.advance(10 * KEEP_MS)
    do(engine, clock, "files")
    assert files.jobs() == ["waiting"]


def test_old_failures_become_dead_letters(engine: Noticing, clock: ManualClock) -> None:
    put_and_end(engine, "a", FAILED, now=clock.now())
    execute(engine, "UPDATE dead_letters SET fingerprint = ''")
    look_after(engine, clock)
    assert [letters.jobs for letters in engine.query(list_dead_letters).letters] == [1]


def test_free_pages_are_given_back(engine: Noticing, clock: ManualClock) -> None:
    payload = f'{{"x": "{"y" * 100_000}"}}'
    for number in range(80):
        put_one(engine, f"big{number}", payload=payload, now=clock.now())
    execute(engine, "DELETE FROM jobs")
    look_after(engine, clock)  # It is found without being asked.
    [view] = [view for view in engine.query(list_chores) if view.chore is Chore.INCREMENTAL_VACUUM]
    assert view.last is not None
    assert '"freed_bytes":0' not in (did(view.last) or "")
    assert engine.check() == []


def old_jobs(engine: Noticing, clock: ManualClock) -> str:
    """More than one step of retention, and the job that is to remove them."""
    make_jobs(engine, clock, *(f"j{number}" for number in range(3 * AT_ONCE)))
    clock.advance(KEEP_MS / 1000 + 1)
    [answer] = engine.run(maintain, "retention", clock.now())
    assert answer.id is not None
    return answer.id


def left(engine: Engine) -> int:
    return len(select(engine, "SELECT 1 FROM jobs WHERE queue = 'default'"))


def test_a_chore_that_is_cancelled_ends_between_two_steps(engine: Noticing, clock: ManualClock) -> None:
    chore = old_jobs(engine, clock)
    engine.before_the_second = lambda: SqliteEngine.write(engine, cancel_job, chore, clock.now())
    look_after(engine, clock)
    assert engine.query(find_job, chore).state.name is StateName.CANCELLED
    assert left(engine) == AT_ONCE


def test_a_chore_makes_room_for_who_reserves_everything(engine: Noticing, clock: ManualClock) -> None:
    chore = old_jobs(engine, clock)
    wanted = NewReservation(str(uuid4()), "*", "somebody", "s1", 60_000, 60_000)
    engine.before_the_second = lambda: SqliteEngine.write(engine, reserve, wanted, clock.now())
    look_after(engine, clock)
    assert engine.query(find_job, chore).state.name is StateName.QUEUED
    assert left(engine) == AT_ONCE


def test_a_stop_lets_the_chore_go_on_another_time(engine: Noticing, clock: ManualClock) -> None:
    chore = old_jobs(engine, clock)

    async def work() -> None:
        loop = Maintenance(engine, clock, "s1", KEPT, ClockTrust(clock))
        stopping: asyncio.Future[asyncio.Task[None]] = asyncio.get_running_loop().create_future()

        async def stop() -> None:
            stopping.set_result(asyncio.create_task(loop.stop()))

        engine.before_the_second = stop
        loop.start()
        await (await stopping)

    asyncio.run(work())
    assert engine.query(find_job, chore).state.name is StateName.QUEUED
    assert [run.status for run in runs(engine, chore)] == ["YIELDED"]
    look_after(engine, clock)
    assert left(engine) == 0


def test_a_chore_that_fails_does_not_keep_others_from_being_done(engine: Noticing, clock: ManualClock) -> None:
    chore = old_jobs(engine, clock)

    async def break_it() -> None:
        raise OSError("the disk makes noises")

    engine.before_the_second = break_it
    look_after(engine, clock)
    failed = engine.query(find_job, chore)
    # Its queue tries a chore once more.
    assert (failed.state.name, runs(engine, chore)[0].error) == (StateName.SCHEDULED, "the disk makes noises")
    assert do(engine, clock, "events").state.name is StateName.DONE


def test_a_vacuum_that_finds_no_quiet_moment_is_tried_again_later(
    engine: Noticing, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chores, "VACUUM_TRIES", 0)
    job = do(engine, clock, "vacuum")
    assert job.state == Scheduled(clock.now() + LATER_MS, "snoozed")


def test_a_vacuum_is_tried_some_times_before_that(engine: Noticing, clock: ManualClock) -> None:
    breaths: list[int] = []

    async def breathe() -> None:
        breaths.append(1)

    disturbed = Chores(engine, clock, KEPT, should_stop=lambda: True)
    with pytest.raises(TryLater):
        asyncio.run(disturbed.do(Chore.VACUUM, breathe, by_hand=True))
    assert len(breaths) == chores.VACUUM_TRIES


def test_a_paused_queue_is_left_alone(engine: Noticing, clock: ManualClock) -> None:
    look_after(engine, clock)
    engine.run(pause, MAINTENANCE, None, clock.now())
    [answer] = engine.run(maintain, "analyze", clock.now())
    assert look_after(engine, clock) > 0
    assert engine.query(find_job, answer.id or "").state.name is StateName.QUEUED


WORKS = """
import sys
from holdfast import Holdfast
with Holdfast(sys.argv[1]) as hf:
    print("ready", flush=True)
    sys.stdin.read()
"""


@pytest.mark.processes
def test_two_processes_on_one_database_do_each_chore_once(tmp_path: Path) -> None:
    path = tmp_path / "work.db"
    hf = Holdfast(path)
    with hf:
        until(lambda: len(hf.maintenance()) == len(Chore), "the chores are known")
    past = apsw.Connection(str(path))
    past.execute("UPDATE maintenance SET due_at = 1")
    past.close()
    command = [sys.executable, "-c", WORKS, str(path)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    children = [subprocess.Popen(command, cwd=ROOT, text=True, **pipes) for _ in range(2)]  # type: ignore[call-overload]
    try:
        until(lambda: done_of(hf) >= ALWAYS, "every chore is done")
    finally:
        for child in children:
            child.communicate("")
    done = [job.task for job in hf.jobs(queue=MAINTENANCE, limit=100).jobs]
    assert len(done) == len(set(done)) == len(ALWAYS)
    assert hf.doctor() == []
    hf.close()


ALWAYS = {chore for chore in Chore if not RULES[chore].asks_first}


def done_of(hf: Holdfast) -> set[Chore]:
    return {view.chore for view in hf.maintenance() if view.last is not None and isinstance(view.last.state, Done)}
