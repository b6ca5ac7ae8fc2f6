"""The disk is full for a while: every write is refused with the reason, reads go on, and then all goes on."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.core.errors import StoreFull
from holdfast.core.requests import NewJob
from holdfast.store.engine import Engine
from holdfast.store.scripts import doctor
from holdfast.store.scripts.enqueue import enqueue
from holdfast.store.scripts.look import find_job
from holdfast.store.sqlite.engine import SqliteEngine
from tests.faults.crash_image import Image, write_image
from tests.faults.faulty_vfs import Act, Fault, How, NewDisk
from tests.faults.story import NOW, every_row, until_it_writes

FOR_EVER = 1_000_000


def put(engine: Engine, name: str) -> None:
    engine.submit(enqueue, [NewJob(id=name, task="work", payload='"' + "x" * 1_000 + '"')], NOW).result()


@pytest.mark.usefixtures("eager_checkpoints")
@pytest.mark.parametrize("nth", [1, 2, 7, 40])
def test_writes_are_refused_while_the_disk_is_full_and_go_on_afterwards(
    nth: int, empty: Image, tmp_path: Path, new_disk: NewDisk
) -> None:
    disk = new_disk(write_image(empty, tmp_path / "full.db"))
    engine = SqliteEngine(disk.path, now=lambda: NOW, vfs=disk.name)
    put(engine, "before")
    disk.break_next(Fault(Act.WRITE, nth, How.FULL, times=FOR_EVER))
    stored = ["before"]
    messages = set()
    for number in range(30):
        try:
            put(engine, f"job-{number}")
            stored.append(f"job-{number}")
        except StoreFull as error:
            messages.add(str(error))
        assert engine.query(find_job, stored[-1]).id == stored[-1]
    assert len(stored) < 10
    assert all(disk.path in message and "Free some space" in message for message in messages)
    assert engine.troubles.current is not None
    disk.break_next(None)
    until_it_writes(engine)
    put(engine, "after")
    assert [row[1] for row in sorted(engine.query(every_row)["jobs"])] == [*stored, "after"]
    assert doctor.examine(engine) == []
    engine.close()


def test_a_database_that_cannot_be_made_on_a_full_disk_is_made_later(tmp_path: Path, new_disk: NewDisk) -> None:
    disk = new_disk(tmp_path / "new.db")
    engine = SqliteEngine(disk.path, now=lambda: NOW, vfs=disk.name)
    for nth in (1, 3, 20):
        disk.break_next(Fault(Act.WRITE, nth, How.FULL, times=FOR_EVER))
        with pytest.raises(StoreFull, match=r"new\.db is full"):
            put(engine, "too early")
    disk.break_next(None)
    put(engine, "one")
    assert len(engine.query(every_row)["jobs"]) == 1
    assert doctor.examine(engine) == []
    engine.close()


ON_A_SMALL_DISK = """
import sys
from tests.faults.test_disk_full import StoreFull, SqliteEngine, doctor, every_row, put

engine = SqliteEngine(sys.argv[1], now=lambda: 1)
stored = []
for number in range(1_000):
    try:
        put(engine, f"job-{number}")
        stored.append(f"job-{number}")
    except StoreFull:
        break
assert 0 < len(stored) < 1_000, len(stored)
engine.close()
engine = SqliteEngine(sys.argv[1], now=lambda: 1)
assert [row[1] for row in sorted(engine.query(every_row)["jobs"])] == stored
assert doctor.examine(engine) == []
engine.close()
print("all is there")
"""


def test_a_disk_that_is_really_full_loses_nothing(tmp_path: Path) -> None:
    mount = f"mount -t tmpfs -o size=1500k tmpfs {tmp_path}"
    alone = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c"]
    if not shutil.which("unshare") or subprocess.run([*alone, mount], capture_output=True, check=False).returncode:
        pytest.skip("this system lets nobody make a small disk")
    command = [*alone, f'{mount} && exec "$0" -c "$1" "$2"', sys.executable, ON_A_SMALL_DISK, f"{tmp_path}/w.db"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout == "all is there\n", done.stderr
