"""A file is written anew without anybody having to wait for it, whoever comes in between and whoever dies."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from threading import Thread

import apsw
import pytest

from holdfast.core.errors import StoreFull
from holdfast.store.forks import occupancy
from holdfast.store.maintenance import Disturbed
from holdfast.store.scripts.jobs.enqueue import enqueue
from holdfast.store.scripts.maintenance.maintenance import release_pages, space
from holdfast.store.sqlite import vacuum
from holdfast.store.sqlite.engine import SqliteEngine
from holdfast.store.sqlite.maintenance import FileMaintenance
from holdfast.store.sqlite.write_lock import WriteLock
from tests.chaos.processes import ROOT, until
from tests.store.acts import NOW, execute, new_job, put, put_one, select

JOBS = 3_000
KEPT = 1_000

# Vacuums the file it is given; with the turn in hand it says so, and waits to be killed.
VACUUMS = """
import sys
from holdfast.store.sqlite.maintenance import FileMaintenance
from tests.store.maintenance.test_vacuum import has_turn

def stay():
    if has_turn(sys.argv[1]):
        print("inside", flush=True)
        sys.stdin.read()
    return False

FileMaintenance(sys.argv[1]).vacuum(stay)
"""
# Enqueues one job after the other, as a program on the same file would.
ENQUEUES = """
import sys
from holdfast import Holdfast
hf = Holdfast(sys.argv[1])
print("ready", flush=True)
for number in range(100):
    hf.enqueue("t", {"number": number})
hf.close()
"""


def has_turn(path: str) -> bool:
    """Whether somebody has the turn to write."""
    return not _can_lock(f"{path}-locks/turn")


def is_waited_for(path: str) -> bool:
    """Whether somebody waits for the turn to write."""
    return not _can_lock(f"{path}-locks/gate")


def _can_lock(path: str) -> bool:
    file = os.open(path, os.O_RDWR)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(file)
    return True


def never() -> bool:
    return False


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[SqliteEngine]:
    """A file made before free pages could be given back, most of which is free."""
    path = tmp_path / "work.db"
    old = apsw.Connection(str(path))
    old.execute("PRAGMA journal_mode = wal; CREATE TABLE x (y); DROP TABLE x")
    old.close()
    made = SqliteEngine(path, durability="normal", now=lambda: NOW)
    payload = f'{{"x": "{"y" * 2_000}"}}'
    put(made, *(new_job(f"j{number}", payload=payload) for number in range(JOBS)))
    execute(made, "DELETE FROM jobs WHERE number > :kept", kept=KEPT)
    yield made
    made.close()


def jobs(engine: SqliteEngine) -> int:
    return int(select(engine, "SELECT count(*) AS jobs FROM jobs")[0]["jobs"])


def is_well(engine: SqliteEngine, expected: int = KEPT) -> bool:
    return engine.check() == [] and jobs(engine) == expected


def test_a_vacuum_gives_back_what_is_free(engine: SqliteEngine) -> None:
    done = FileMaintenance(engine.path).vacuum(never)
    assert os.path.getsize(engine.path) == done.after < done.before / 2
    assert is_well(engine)


def test_nothing_is_left_beside_the_file(engine: SqliteEngine) -> None:
    FileMaintenance(engine.path).vacuum(never)
    engine.close()
    beside = {file.name for file in Path(engine.path).parent.iterdir()}
    assert beside == {"work.db", "work.db-locks"}


def test_the_log_does_not_stay_as_long_as_the_vacuum_made_it(engine: SqliteEngine) -> None:
    FileMaintenance(engine.path).vacuum(never)
    assert os.path.getsize(f"{engine.path}-wal") == 0


def test_whoever_had_the_file_open_before_goes_on_writing(engine: SqliteEngine) -> None:
    other = apsw.Connection(engine.path)
    assert other.pragma("auto_vacuum") == 0
    FileMaintenance(engine.path).vacuum(never)
    put(engine, *(new_job(f"later{number}") for number in range(500)))
    other.execute("UPDATE jobs SET payload = ?", ('{"x": "' + "z" * 3_000 + '"}',))
    other.close()
    assert is_well(engine, KEPT + 500)


def test_a_vacuumed_file_gives_pages_back_some_at_a_time(engine: SqliteEngine) -> None:
    assert not engine.query(space).is_incremental
    FileMaintenance(engine.path).vacuum(never)
    put(engine, *(new_job(f"more{number}", payload=f'"{"y" * 2_000}"') for number in range(KEPT)))
    execute(engine, "DELETE FROM jobs WHERE id LIKE 'more%'")
    before = engine.query(space)
    after = engine.run(release_pages)
    assert (before.is_incremental, before.pages - after.pages, before.free - after.free) == (True, 64, 64)
    assert is_well(engine)


def test_a_new_file_gives_pages_back_from_the_beginning(tmp_path: Path) -> None:
    made = SqliteEngine(tmp_path / "new.db", now=lambda: NOW)
    assert made.query(space).is_incremental
    made.close()


def test_what_was_written_since_the_copy_was_made_stays(engine: SqliteEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the copy is so small that it could go back in one step."""
    make_copy = vacuum._make_copy

    def then_somebody_writes(path: str, copy: Path, must_stop: Callable[[], bool]) -> None:
        make_copy(path, copy, must_stop)
        put_one(engine, "late")

    monkeypatch.setattr(vacuum, "_make_copy", then_somebody_writes)
    monkeypatch.setattr(vacuum, "PAGES_AT_ONCE", 1_000_000)
    with pytest.raises(Disturbed):
        FileMaintenance(engine.path).vacuum(never)
    assert is_well(engine, KEPT + 1)


def test_a_write_makes_the_copy_outdated(engine: SqliteEngine) -> None:
    """While the copy is made nobody has to wait."""
    calls: list[bool] = []

    def write_once() -> bool:
        if not calls and not has_turn(engine.path):
            calls.append(True)
            put_one(engine, "meanwhile")
        return False

    before = os.path.getsize(engine.path)
    with pytest.raises(Disturbed):
        FileMaintenance(engine.path).vacuum(write_once)
    assert calls == [True]
    assert os.path.getsize(engine.path) >= before
    assert is_well(engine, KEPT + 1)


def test_the_vacuum_gives_way_to_whoever_wants_to_write(engine: SqliteEngine) -> None:
    """While the copy goes back it has the turn; after a few pages the one who waits gets it."""
    waiting: list[object] = []

    def want_to_write() -> bool:
        if has_turn(engine.path) and not waiting:
            waiting.append(engine.submit(enqueue, [new_job("waited")], NOW))
            while not is_waited_for(engine.path):
                pass
        return False

    with pytest.raises(Disturbed):
        FileMaintenance(engine.path).vacuum(want_to_write)
    assert len(waiting) == 1
    assert is_well(engine, KEPT + 1)
    assert os.path.getsize(f"{engine.path}-wal") < os.path.getsize(engine.path) / 4


def test_a_vacuum_that_is_told_to_stop_changes_nothing(engine: SqliteEngine) -> None:
    with pytest.raises(Disturbed):
        FileMaintenance(engine.path).vacuum(lambda: True)
    assert is_well(engine)


@pytest.mark.parametrize(
    "chore", [lambda maintenance: maintenance.analyse("queues"), lambda maintenance: maintenance.empty_log()]
)
def test_whoever_waits_for_the_turn_keeps_nobody_from_forking(
    engine: SqliteEngine, chore: Callable[[FileMaintenance], object]
) -> None:
    """The one who has the turn may itself have to wait until a fork is over."""
    write_lock = WriteLock(engine.locks)
    with write_lock:
        waiting = Thread(target=chore, args=(FileMaintenance(engine.path),))
        waiting.start()
        until(lambda: is_waited_for(engine.path), "it waits for the turn")
        until(lambda: occupancy.is_empty, "a fork could go ahead")
    waiting.join()
    write_lock.close()


def test_a_vacuum_does_not_wait_for_the_turn_of_others(engine: SqliteEngine) -> None:
    FileMaintenance(engine.path).empty_log()  # For that it would wait, with nothing open.
    write_lock = WriteLock(engine.locks)
    with write_lock, pytest.raises(Disturbed):
        FileMaintenance(engine.path).vacuum(never)
    write_lock.close()
    assert is_well(engine)


def test_a_vacuum_gives_way_to_a_program_that_knows_no_turns(engine: SqliteEngine) -> None:
    other = apsw.Connection(engine.path)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(Disturbed):
        FileMaintenance(engine.path).vacuum(never)
    other.close()
    assert is_well(engine)


def child(program: str, path: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", program, path]
    return subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def read_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


@pytest.mark.processes
def test_one_that_is_killed_in_the_middle_leaves_all_as_it_was(engine: SqliteEngine) -> None:
    with child(VACUUMS, engine.path) as process:
        said = read_line(process)
        process.kill()
    assert said == "inside"
    put_one(engine, "after")
    assert is_well(engine, KEPT + 1)
    FileMaintenance(engine.path).empty_log()
    assert not Path(f"{engine.path}{vacuum.LEFTOVER}").exists()
    FileMaintenance(engine.path).vacuum(never)
    assert is_well(engine, KEPT + 1)


@pytest.mark.processes
def test_another_process_writes_all_the_time(engine: SqliteEngine) -> None:
    engine.close()
    with child(ENQUEUES, engine.path) as process:
        assert read_line(process) == "ready"
        while process.poll() is None:
            with suppress(Disturbed):
                FileMaintenance(engine.path).vacuum(never)
    assert process.returncode == 0
    assert is_well(engine, KEPT + 100)


def test_without_room_for_the_copy_nothing_is_begun(engine: SqliteEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vacuum, "MARGIN_BYTES", 1 << 60)
    with pytest.raises(StoreFull, match="cannot be written anew"):
        FileMaintenance(engine.path).vacuum(never)
    assert is_well(engine)
