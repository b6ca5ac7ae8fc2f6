"""The lock of a life: one holder at a time, whoever looks at it, and a file that is really there."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.store.locks import LifeLock, is_held_by, is_locked
from tests.chaos.processes import PATIENCE_S, until

pytestmark = pytest.mark.processes

HOLD = """
import sys
from pathlib import Path
from holdfast.store.locks import LifeLock
lock = LifeLock(Path(sys.argv[1]))
print("held", flush=True)
sys.stdin.read()
lock.release()
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "locks" / "life"


@pytest.fixture
def holder(path: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that holds the lock, until its input ends."""
    words = [sys.executable, "-c", HOLD, str(path)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


def test_only_one_holds_it(path: Path, holder: subprocess.Popen[str]) -> None:
    with pytest.raises(BlockingIOError):
        LifeLock(path)
    assert is_locked(str(path))


def test_the_kernel_gives_it_back_at_death(path: Path, holder: subprocess.Popen[str]) -> None:
    holder.kill()
    holder.wait()
    assert is_locked(str(path)) is False
    LifeLock(path).release()
    assert is_locked(str(path)) is None


def test_who_looks_at_it_keeps_nobody_from_taking_it(path: Path) -> None:
    stopped = threading.Event()

    def look() -> None:
        while not stopped.is_set():
            is_locked(str(path))

    lookers = [threading.Thread(target=look) for _ in range(4)]
    for looker in lookers:
        looker.start()
    try:
        for _ in range(100):
            LifeLock(path, PATIENCE_S).release()
    finally:
        stopped.set()
        for looker in lookers:
            looker.join()


def test_a_lock_that_was_given_back_meanwhile_is_taken_on_the_file_that_is_there(path: Path) -> None:
    """Two that follow each other must never both believe to hold it: one of them on a file that was taken away."""
    held: list[str] = []
    wrong: list[str] = []

    def take_turns() -> None:
        for _ in range(100):
            lock = LifeLock(path, PATIENCE_S)
            held.append("")
            if len(held) > 1 or not is_held_by(str(path), os.getpid()):
                wrong.append("two at once, or on no file")
            held.pop()
            lock.release()

    takers = [threading.Thread(target=take_turns) for _ in range(4)]
    for taker in takers:
        taker.start()
    for taker in takers:
        taker.join()
    assert wrong == []


def test_who_holds_it_is_told_by_the_kernel(path: Path, holder: subprocess.Popen[str]) -> None:
    assert is_held_by(str(path), holder.pid)
    assert not is_held_by(str(path), os.getpid())
    holder.kill()
    holder.wait()
    until(lambda: not is_held_by(str(path), holder.pid), "the dead hold nothing")
