"""Who hangs: a worker that lives and is silent, while the judge itself is heard. And only that one is killed."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from holdfast.core.messages.sessions import SessionRow
from holdfast.runtime.sessions.hung import kill_holder
from holdfast.runtime.sessions.judge import BEATS, LEASE_S, RECONNECT_S, Judge, LifeVerdict
from holdfast.store.locks import LifeLock

HOLD = """
import signal, sys
from pathlib import Path
from holdfast.store.locks import LifeLock
lock = LifeLock(Path(sys.argv[1]))
print("held", flush=True)
signal.pause()
"""
SECONDS = int(LEASE_S)


@pytest.fixture
def worker(tmp_path: Path) -> Iterator[SessionRow]:
    """A worker that lives."""
    lock = LifeLock(tmp_path / "w")
    yield SessionRow("w", "worker", "node", "node", "host", "boot", 1, str(lock.path), 5, 0, None, None)
    lock.release()


@pytest.fixture
def judge(tmp_path: Path) -> Judge:
    return Judge("boot", lambda: "node", locks=tmp_path)


def look_for(judge: Judge, session: SessionRow, seconds: int, beats: float = BEATS / LEASE_S) -> list[LifeVerdict]:
    """One look a second, with so many own heartbeats in a second."""
    return [judge.look(session, second, int(second * beats)) for second in range(seconds + 1)]


def test_a_worker_that_is_silent_for_a_lease_hangs(judge: Judge, worker: SessionRow) -> None:
    found = look_for(judge, worker, SECONDS)
    assert found == [LifeVerdict.ALIVE] * SECONDS + [LifeVerdict.HUNG]


def test_a_worker_that_beats_does_not_hang(judge: Judge, worker: SessionRow) -> None:
    for second in range(10 * SECONDS):
        heard = msgspec.structs.replace(worker, heartbeat=second // (SECONDS - 1))
        assert judge.look(heard, second, second) is LifeVerdict.ALIVE


def test_nobody_hangs_while_the_judge_is_not_heard_either(judge: Judge, worker: SessionRow) -> None:
    assert set(look_for(judge, worker, 10 * SECONDS, beats=0)) == {LifeVerdict.ALIVE}


def test_nobody_hangs_while_the_judge_sleeps(judge: Judge, worker: SessionRow) -> None:
    assert {judge.look(worker, at, beats) for beats, at in enumerate((0, 9_000, 18_000, 27_000))} == {LifeVerdict.ALIVE}


@pytest.mark.parametrize("kind", ["embedded", "daemon"])
def test_other_programs_may_stand_still(judge: Judge, worker: SessionRow, kind: str) -> None:
    other = msgspec.structs.replace(worker, kind=kind)
    assert set(look_for(judge, other, 10 * SECONDS)) == {LifeVerdict.ALIVE}


def test_a_judge_with_a_new_name_begins_anew(judge: Judge, worker: SessionRow) -> None:
    look_for(judge, worker, SECONDS - 1)
    assert judge.look(worker, SECONDS, 0) is LifeVerdict.ALIVE
    assert judge.look(worker, SECONDS + 1, 1) is LifeVerdict.ALIVE


def test_a_worker_of_an_earlier_daemon_has_time_to_find_this_one(tmp_path: Path, worker: SessionRow) -> None:
    judge = Judge("boot", lambda: "node", locks=tmp_path, lease=2)
    judge.forget({"w"})
    assert look_for(judge, worker, int(RECONNECT_S) - 1, beats=1) == [LifeVerdict.ALIVE] * int(RECONNECT_S)
    assert judge.look(worker, RECONNECT_S, 100) is LifeVerdict.HUNG
    judge.forget({"w"})
    heard = msgspec.structs.replace(worker, heartbeat=6)
    assert [judge.look(heard, 20 + second, 100 + second) for second in range(3)][-1] is LifeVerdict.HUNG


def test_a_worker_that_came_by_tcp_is_found_by_its_own_lock(tmp_path: Path) -> None:
    lock = LifeLock(tmp_path / "there" / "w")
    session = SessionRow("w", "worker", "node", "node", "host", "boot", 1, str(lock.path), 5, 0, None, None)
    judge = Judge("boot", lambda: "node", locks=tmp_path / "here")
    assert judge.look(session, 0) is LifeVerdict.ALIVE
    path = tmp_path / "there" / "other"
    path.touch()
    assert judge.look(msgspec.structs.replace(session, id="other", lock_path=str(path)), 0) is LifeVerdict.GONE
    lock.release()


@pytest.mark.processes
def test_only_the_holder_of_the_lock_is_killed(tmp_path: Path) -> None:
    words = [sys.executable, "-c", HOLD]
    with (
        subprocess.Popen([*words, str(tmp_path / "a")], stdout=subprocess.PIPE, text=True) as hung,
        subprocess.Popen([*words, str(tmp_path / "b")], stdout=subprocess.PIPE, text=True) as other,
    ):
        for process in (hung, other):
            assert process.stdout is not None
            assert process.stdout.readline() == "held\n"
        assert not kill_holder(str(tmp_path / "a"), other.pid)
        assert not kill_holder(str(tmp_path / "no such lock"), hung.pid)
        assert other.poll() is hung.poll() is None
        assert kill_holder(str(tmp_path / "a"), hung.pid)
        assert (hung.wait(), other.poll()) == (-9, None)
        other.kill()
