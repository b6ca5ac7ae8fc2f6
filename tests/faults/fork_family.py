"""A program that forks in the middle of its work; `test_fork` starts it and looks at what it leaves in the database.

Every process writes through the engine object that the first one made.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable
from threading import Event, Thread

import pytest

from holdfast.core.errors import StoreUnavailable
from holdfast.core.jobs.requests import NewJob
from holdfast.store import forks
from holdfast.store import script_names as named
from holdfast.store.engine import Changes, Engine, Tx
from holdfast.store.postgres.engine import PostgresEngine
from holdfast.store.sqlite.engine import SqliteEngine
from holdfast.store.topics import FOREIGN, UNKNOWN

NOW = 1_700_000_000_000
CHILDREN = 4
WRITES = 15


def write(engine: Engine, name: str, writes: int = WRITES) -> None:
    for number in range(writes):
        engine.submit(named.enqueue.enqueue, [NewJob(id=f"{name}-{number}", task="work")], NOW).result(timeout=60)
        engine.query(named.read_jobs.counts)


class Signal:
    """One process tells another that it has come so far."""

    def __init__(self) -> None:
        self._read, self._write = os.pipe()

    def give(self) -> None:
        os.write(self._write, b"x")

    def wait(self) -> None:
        os.read(self._read, 1)


def fork(task: Callable[[], None], *, orderly: bool) -> int:
    """A child that does this and ends: as a program ends, or at once."""
    pid = os.fork()
    if pid:
        return pid
    task()
    if orderly:
        sys.exit()
    os._exit(0)


def wait_for(pids: list[int]) -> None:
    for pid in pids:
        _, status = os.waitpid(pid, 0)
        assert os.waitstatus_to_exitcode(status) == 0


def busy(engine: Engine, *, orderly: bool) -> None:
    """Threads of the parent write and read all the time while it forks, and while the children work."""
    stopping, heard = Event(), Event()
    written: list[str] = []

    def write_on(name: str) -> None:
        while not stopping.is_set():
            write(engine, f"{name}-{len(written)}", 1)
            written.append(name)

    def hear(changes: Changes) -> None:
        if UNKNOWN in changes.topics or FOREIGN in changes.topics:
            heard.set()

    engine.listen(hear)
    threads = [Thread(target=write_on, args=(name,), daemon=True) for name in ("parent-a", "parent-b")]
    for thread in threads:
        thread.start()
    children = [
        fork(lambda name=f"child-{number}": write(engine, name), orderly=orderly)  # type: ignore[misc]
        for number in range(CHILDREN)
    ]
    wait_for(children)
    assert heard.wait(60)
    stopping.set()
    for thread in threads:
        thread.join()
    write(engine, "after")
    engine.close()
    print(len(written))


def outlive(engine: Engine, *, orderly: bool) -> None:
    """The children go on when the parent has closed the engine, and one of them has children of its own."""
    write(engine, "before")
    begun, closed = [Signal() for _ in range(CHILDREN)], [Signal() for _ in range(CHILDREN)]

    def go_on(number: int) -> None:
        write(engine, f"child-{number}", 2)
        begun[number].give()
        closed[number].wait()
        write(engine, f"later-{number}")
        if number == 0:
            wait_for([fork(lambda: write(engine, "grandchild"), orderly=orderly)])

    children = [fork(lambda number=number: go_on(number), orderly=orderly) for number in range(CHILDREN)]  # type: ignore[misc]
    for signal in begun:
        signal.wait()
    engine.close()
    for signal in closed:
        signal.give()
    wait_for(children)


def interrupt(engine: Engine, *, orderly: bool) -> None:
    """The fork comes in the middle of a read that does not end; the child must keep away."""
    forks.PATIENCE_S = 0.1
    write(engine, "before")
    reached, released = Event(), Event()

    def read_for_ever(tx: Tx) -> None:
        named.read_jobs.counts(tx)
        reached.set()
        assert released.wait(60)

    def try_to_write() -> None:
        with pytest.raises(StoreUnavailable, match="was forked while"):
            write(engine, "impossible")

    reader = Thread(target=engine.query, args=(read_for_ever,))
    reader.start()
    assert reached.wait(60)
    wait_for([fork(try_to_write, orderly=orderly)])
    released.set()
    reader.join()
    write(engine, "after")
    engine.close()


def look_for_folder(engine: Engine, *, orderly: bool) -> None:
    """The fork comes while another thread looks for the folder of temporary files, which takes a lock of Python's."""
    reached = Event()
    find = tempfile._get_default_tempdir  # type: ignore[attr-defined]

    def find_slowly() -> str:
        reached.set()
        time.sleep(0.5)
        return str(find())

    tempfile.tempdir = None
    tempfile._get_default_tempdir = find_slowly  # type: ignore[attr-defined]
    looking = Thread(target=lambda: engine.locks, daemon=True)
    looking.start()
    assert reached.wait(60)
    wait_for([fork(lambda: write(engine, "child"), orderly=orderly)])
    looking.join()
    engine.close()


def import_nothing(engine: Engine, *, orderly: bool) -> None:
    """What is imported while threads use an engine; a fork at that moment would leave the lock of a module taken."""
    before = set(sys.modules)
    write(engine, "only", 2)
    engine.close()
    print(sorted(set(sys.modules) - before))


if __name__ == "__main__":
    kind, where, what, ending = sys.argv[1:]
    engine: Engine = (
        SqliteEngine(where, now=lambda: NOW)
        if kind == "sqlite"
        else PostgresEngine(where.rpartition(" ")[0], schema=where.rpartition(" ")[2], now=lambda: NOW)
    )
    acts = {"busy": busy, "outlive": outlive, "interrupt": interrupt, "look": look_for_folder, "import": import_nothing}
    acts[what](engine, orderly=ending == "orderly")
