"""Who lives is never settled, however still it stands and whatever the clocks say; who is dead is settled at once."""

from __future__ import annotations

import asyncio
import os
import subprocess
from datetime import timedelta
from pathlib import Path

import pytest

from holdfast import Context, Holdfast, StateName
from holdfast.core.messages.sessions import NewSession
from holdfast.runtime.sessions.judge import LEASE_S, LONGEST_LOOK_S
from holdfast.runtime.sessions.recovery import Recovery
from holdfast.store.engine import Engine
from holdfast.store.scripts.sessions.recover import recover
from holdfast.store.scripts.sessions.sessions import beat, open_session
from holdfast.testing import ManualClock
from tests.chaos.conftest import Start
from tests.chaos.database import Database, dump, recovery, select, sessions, states
from tests.chaos.journal import entries
from tests.chaos.processes import PATIENCE_S, Program, until
from tests.chaos.scenarios.shared import job, put, take

LOOKS = 50
UNSHARE = ("unshare", *(("--user", "--map-root-user") if os.geteuid() else ()))
PID_NAMESPACE = (*UNSHARE, "--pid", "--fork", "--mount-proc")
MOUNTED = ("sh", "-c", 'mount --bind "$1" "$2" && shift 2 && exec "$@"', "mounted")


def look(judge: Recovery) -> None:
    asyncio.run(judge.tick())


def look_for_hours(judge: Recovery, clock: ManualClock) -> None:
    for hours in range(LOOKS):
        clock.advance(timedelta(hours=1))
        look(judge)
        clock.step(timedelta(days=hours % 3 - 1))
        look(judge)


def holding(start: Start, database: Database, folder: Path, jobs: int = 1, inside: tuple[str, ...] = ()) -> Program:
    """A program with so many running jobs in it."""
    program = start("holder", *database.args, folder, jobs, inside=inside)
    until(lambda: len(entries(folder, "start")) == jobs or not program.is_running, "the jobs run")
    assert program.is_running, program.said()
    return program


def test_a_stopped_process_is_not_settled(database: Database, engine: Engine, folder: Path, start: Start) -> None:
    holder = holding(start, database, folder)
    holder.freeze()
    before, clock = dump(engine), ManualClock()
    look_for_hours(recovery(engine, clock), clock)
    assert dump(engine) == before
    holder.thaw()
    for word in ("release", "done"):
        (folder / word).touch()
    holder.end_well()
    assert states(engine) == {"DONE": 1}
    assert len(entries(folder, "start")) == 1


def assert_that_we_may(*command: str) -> None:
    tried = subprocess.run([*command, "true"], capture_output=True, text=True, check=False)
    assert tried.returncode == 0, f"this environment does not let us {' '.join(command)}: {tried.stderr}"


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
def test_a_process_that_has_the_file_under_another_path_is_not_settled(
    database: Database, engine: Engine, folder: Path, start: Start
) -> None:
    here = Path(database.target).parent
    there = here / "there"
    there.mkdir()
    mounting = (*UNSHARE, "--mount", *MOUNTED, str(here), str(there))
    assert_that_we_may(*mounting)
    seen_there = Database(str(there / Path(database.target).name), database.schema)
    holder = holding(start, seen_there, folder, inside=mounting)
    holder.freeze()
    before, clock = dump(engine), ManualClock()
    look_for_hours(recovery(engine, clock), clock)
    assert dump(engine) == before


def test_a_process_in_another_pid_namespace_is_judged_like_any_other(
    database: Database, engine: Engine, folder: Path, start: Start
) -> None:
    assert_that_we_may(*PID_NAMESPACE)
    holder = holding(start, database, folder, inside=(*PID_NAMESPACE, "--kill-child"))
    [session] = sessions(engine)
    assert session["pid"] == 1, "it should know itself by the number it has inside"
    before, clock = dump(engine), ManualClock()
    judge = recovery(engine, clock)
    look_for_hours(judge, clock)
    assert dump(engine) == before
    holder.kill()

    def is_settled() -> bool:
        # The kernel kills the inner process a moment after the outer one; there is a process 1 out here all the same.
        look(judge)
        return states(engine) == {"SCHEDULED": 1}

    until(is_settled, "its run is settled")
    assert [session["status"] for session in sessions(engine)] == ["unknown"]


def test_a_dead_process_is_settled_by_one_look(database: Database, engine: Engine, folder: Path, start: Start) -> None:
    holder = holding(start, database, folder, jobs=3)
    [before] = sessions(engine)
    holder.kill()
    look(recovery(engine))
    [after] = sessions(engine)
    assert (after["status"], after["stopped_at"]) == ("unknown", before["last_heartbeat_at"])
    assert states(engine) == {"QUEUED": 3}
    assert not Path(before["lock_path"]).exists()
    assert {run["error_code"] for run in select(engine, "SELECT error_code FROM job_runs")} == {"ERR_CRASH_RECOVERY"}


def test_a_second_look_at_the_dead_changes_nothing(
    database: Database, engine: Engine, folder: Path, start: Start
) -> None:
    holding(start, database, folder, jobs=3).kill()
    judge = recovery(engine)
    look(judge)
    settled = dump(engine)
    look(judge)
    look(recovery(engine))
    assert dump(engine) == settled


def far_away(engine: Engine) -> str:
    """A session with a running job on a machine of which only the heartbeat is seen."""
    session = NewSession("far", "embedded", "elsewhere", "another boot", 1, "/no/such/lock")
    engine.submit(open_session, session, None, 0).result()
    put(engine, job("held"))
    assert take(engine, session.id)
    return session.id


def status(engine: Engine) -> str:
    [session] = sessions(engine)
    return str(session["status"])


def test_a_silent_machine_is_given_one_lease_of_the_judges_own_time(engine: Engine) -> None:
    far_away(engine)
    clock = ManualClock()
    judge = recovery(engine, clock)
    look(judge)
    for _ in range(int(LEASE_S) - 1):
        clock.advance(1)
        look(judge)
    assert status(engine) == "running"
    clock.advance(1)
    look(judge)
    assert status(engine) == "unknown"
    assert states(engine) == {"SCHEDULED": 1}


def test_a_machine_that_beats_in_time_is_never_settled(engine: Engine) -> None:
    session = far_away(engine)
    clock = ManualClock()
    judge = recovery(engine, clock)
    for second in range(10 * int(LEASE_S)):
        if second % int(LEASE_S) == 0:
            engine.submit(beat, session, 0).result()
        look(judge)
        clock.advance(1)
    assert status(engine) == "running"


def test_a_wall_clock_that_is_set_is_nobodys_silence(engine: Engine) -> None:
    far_away(engine)
    clock = ManualClock()
    judge = recovery(engine, clock)
    for days in range(LOOKS):
        clock.step(timedelta(days=days % 3 - 1))
        look(judge)
    assert status(engine) == "running"


def test_the_judges_own_sleep_is_not_the_others_silence(engine: Engine) -> None:
    far_away(engine)
    clock = ManualClock()
    judge = recovery(engine, clock)
    look(judge)
    # Each time it wakes up it has been awake for one look at most.
    for _ in range(int(LEASE_S / LONGEST_LOOK_S) - 1):
        clock.advance(timedelta(hours=8))
        look(judge)
    assert status(engine) == "running"


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
def test_a_session_that_cannot_start_anew_tries_until_it_can(
    database: Database, engine: Engine, caplog: pytest.LogCaptureFixture
) -> None:
    clock = ManualClock()
    hf = Holdfast(database.target, schema=database.schema, clock=clock)

    @hf.task
    def work() -> int:
        return 42

    with hf:
        [old] = sessions(engine)
        locks = Path(old["lock_path"]).parent
        locks.rename(locks.with_name("aside"))
        locks.touch()
        engine.submit(recover, old["id"], False, clock.now()).result()
        clock.advance(timedelta(seconds=10))
        until(lambda: "cannot start anew" in caplog.text, "it has tried")
        locks.unlink()
        assert work.enqueue().result(PATIENCE_S) == 42
    hf.close()
    assert [session["status"] for session in sessions(engine)] == ["unknown", "success"]


def test_a_session_that_others_settled_starts_anew(database: Database, engine: Engine) -> None:
    clock = ManualClock()
    hf = Holdfast(database.target, schema=database.schema, clock=clock)

    @hf.task
    async def stubborn(ctx: Context) -> int:
        if ctx.attempt == 1:
            await asyncio.Event().wait()
        return ctx.attempt

    with hf:
        handle = stubborn.enqueue()
        until(lambda: handle.state is StateName.RUNNING, "it runs")
        [old] = sessions(engine)
        engine.submit(recover, old["id"], False, clock.now()).result()
        clock.advance(timedelta(seconds=10))
        until(lambda: [row for row in sessions(engine) if row["status"] == "running"], "there is a new session")
        clock.advance(timedelta(minutes=1))
        assert handle.result(timeout=60) == 2
        assert [run.status for run in handle.runs] == ["FAILED", "COMPLETED"]
        locks = [path.name for path in (hf._access.engine.locks / "sessions").iterdir()]
        assert old["id"] not in locks
    assert [session["status"] for session in sessions(engine)] == ["unknown", "success"]
    hf.close()
