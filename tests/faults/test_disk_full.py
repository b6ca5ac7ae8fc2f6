"""The disk is full for a while: every write is refused with the reason, reads go on, and then all goes on."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from holdfast.core.errors import StoreFull
from holdfast.core.jobs.requests import NewJob
from holdfast.store.engine import Engine
from holdfast.store.scripts.jobs.enqueue import enqueue
from holdfast.store.scripts.maintenance import doctor
from holdfast.store.scripts.queues.queues import list_queues
from holdfast.store.scripts.reading.read_jobs import find_job
from holdfast.store.sqlite.engine import SqliteEngine
from tests.faults.crash_image import Image, write_image
from tests.faults.faulty_vfs import Act, Fault, How, NewDisk
from tests.faults.story import NOW, every_row, until_it_writes

__all__ = ["doctor", "list_queues"]  # for the programs below

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


def said_on_a_small_disk(program: str, folder: Path) -> str:
    """What a program prints that has this folder on a disk of its own."""
    mount = f"mount -t tmpfs -o size=2m tmpfs {folder}"
    alone = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c"]
    if not shutil.which("unshare") or subprocess.run([*alone, mount], capture_output=True, check=False).returncode:
        pytest.skip("this system lets nobody make a small disk")
    command = [*alone, f'{mount} && exec "$0" -c "$1" "$2"', sys.executable, program, f"{folder}/w.db"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_disk_that_is_really_full_loses_nothing(tmp_path: Path) -> None:
    assert said_on_a_small_disk(ON_A_SMALL_DISK, tmp_path) == "all is there\n"


def fill(path: Path) -> None:
    """Write until the disk takes not one byte more."""
    with path.open("ab", buffering=0) as file:
        for size in (1 << 16, 1 << 12, 1):
            with suppress(OSError):
                while True:
                    file.write(b"x" * size)


OPENED_ON_A_FULL_DISK = """
import subprocess, sys
from pathlib import Path
from tests.faults.test_disk_full import NOW, StoreFull, SqliteEngine, doctor, fill, find_job, put, until_it_writes

engine = SqliteEngine(sys.argv[1], now=lambda: NOW)
put(engine, "one")
engine.close()
filler = Path(sys.argv[1] + ".filler")
fill(filler)
assert not Path(sys.argv[1] + "-shm").exists()
engine = SqliteEngine(sys.argv[1], now=lambda: NOW)
assert engine.query(find_job, "one").id == "one"
assert doctor.examine(engine) == []
try:
    put(engine, "two")
except StoreFull as error:
    print(str(error).partition("; ")[2])
filler.unlink()
until_it_writes(engine)
put(engine, "two")
assert engine.query(find_job, "two").id == "two"
# Nobody is kept out any more, as it was while the index of the log had no file.
other = "import apsw, sys; print(apsw.Connection(sys.argv[1]).execute('SELECT count(*) FROM jobs').fetchall())"
print(subprocess.run([sys.executable, "-c", other, sys.argv[1]], capture_output=True, text=True).stdout, end="")
engine.close()
"""


def test_a_file_that_is_opened_on_a_full_disk_is_read_and_written_when_there_is_room(tmp_path: Path) -> None:
    refused, others = said_on_a_small_disk(OPENED_ON_A_FULL_DISK, tmp_path).splitlines()
    assert refused == "nothing was written. Free some space: writing goes on by itself then"
    assert others == "[(2,)]"


OLD_ON_A_FULL_DISK = """
import hashlib, os, sys
from pathlib import Path
from tests.faults.test_disk_full import NOW, StoreFull, SqliteEngine, fill, list_queues

file = Path(sys.argv[1])
old = SqliteEngine(file, now=lambda: NOW, migrate_to=2)
old.open()
old.close()
earlier = Path(f"{file}.before-migration-from-002")
earlier.write_text("of an earlier try")
before = hashlib.sha256(file.read_bytes()).digest()
filler = Path(f"{file}.filler")
fill(filler)
# Enough to look at the file, and not enough to copy it.
os.truncate(filler, filler.stat().st_size - (1 << 16))
assert file.stat().st_size > 1 << 16
engine = SqliteEngine(file, now=lambda: NOW)
try:
    engine.open()
except StoreFull as error:
    print(str(error).replace(str(file), "w.db"))
assert hashlib.sha256(file.read_bytes()).digest() == before
assert earlier.read_text() == "of an earlier try"
filler.unlink()
engine.query(list_queues)
assert earlier.stat().st_size > 4096
engine.close()
"""


def test_a_migration_without_room_for_its_copy_is_refused_with_the_bytes_it_needs(tmp_path: Path) -> None:
    [said] = said_on_a_small_disk(OLD_ON_A_FULL_DISK, tmp_path).splitlines()
    told = re.fullmatch(
        r"w\.db needs a migration, and first a copy of (\d+) bytes beside it, but its disk has (\d+) bytes free; "
        r"nothing was changed\. Free (\d+) bytes and start again",
        said,
    )
    assert told is not None, said
    needed, free, missing = map(int, told.groups())
    assert needed - free == missing > 0
