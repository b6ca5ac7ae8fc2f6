"""A group is emptied to the last process, and nobody else is touched."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import IO

import pytest

from holdfast.runtime.sessions.processes import RUN_VARIABLE, ProcessGroup, empty_group, empty_groups, living, look_at
from tests.chaos.processes import PATIENCE_S, KnownProcess, kill

pytestmark = pytest.mark.processes

RUN = "the run"
NOBODY = 4_194_305  # beyond the highest pid that the kernel gives away
# Says the pid of its child when both are ready. What "stubborn" ones do at SIGTERM is nothing; "loud" ones stay for a
# few looks, to say so if there is another.
FAMILY = """
import os, signal, sys, time
ways = sys.argv[1:]
def hear(*_):
    os.write(1, b"heard\\n")
    time.sleep(0.2)
    os._exit(0)
if "stubborn" in ways:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
if "loud" in ways:
    signal.signal(signal.SIGTERM, hear)
child = os.fork()
if not child:
    if "own-group" in ways:
        os.setpgid(0, 0)
    if "escaped" in ways:
        os.setsid()
    print(os.getpid(), flush=True)
elif "orphan" in ways:
    os._exit(0)
while True:
    time.sleep(3600)
"""


class Family:
    """A process in a session of its own, and the child that it forked."""

    def __init__(self, *ways: str, run_id: str = RUN) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", FAMILY, *ways],
            stdout=subprocess.PIPE,
            start_new_session=True,
            env={RUN_VARIABLE: run_id},
        )
        seen = look_at(self.process.pid)
        assert seen is not None
        self.group = ProcessGroup(seen.pid, seen.started_at, RUN)
        self.first = KnownProcess(seen.pid, seen.started_at)
        output: IO[bytes] | None = self.process.stdout
        assert output is not None
        self.child = KnownProcess.of(int(output.readline()))
        if "orphan" in ways:
            self.process.wait()

    def living(self) -> list[KnownProcess]:
        return [process for process in (self.first, self.child) if process.is_alive]

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        kill(self.child)
        assert self.process.stdout is not None
        self.process.stdout.close()


@pytest.fixture
def start() -> Iterator[Callable[..., Family]]:
    families: list[Family] = []

    def begin(*ways: str, run_id: str = RUN) -> Family:
        families.append(Family(*ways, run_id=run_id))
        return families[-1]

    yield begin
    for family in families:
        family.end()


def test_a_start_time_counts_from_the_boot_and_does_not_change(start: Callable[..., Family]) -> None:
    family = start()
    first, second = look_at(family.process.pid), look_at(family.process.pid)
    with open("/proc/uptime", "rb") as file:
        uptime_ms = float(file.read().split()[0]) * 1000
    assert first is not None
    assert first == second
    assert 0 < first.started_at <= uptime_ms


def test_nobody_has_a_pid_that_is_free() -> None:
    assert look_at(NOBODY) is None


@pytest.mark.parametrize("ways", [(), ("stubborn",), ("own-group", "stubborn")], ids=" ".join)
def test_a_group_is_emptied_with_its_grandchildren(start: Callable[..., Family], ways: tuple[str, ...]) -> None:
    family = start(*ways)
    assert empty_group(family.group.pid, family.group.started_at, RUN, grace=0.2)
    assert family.living() == []


def test_who_heeds_sigterm_is_not_killed(start: Callable[..., Family]) -> None:
    family = start()
    empty_group(family.group.pid, family.group.started_at, RUN, grace=PATIENCE_S)
    assert family.process.wait() == -signal.SIGTERM


def test_sigterm_is_sent_once(start: Callable[..., Family]) -> None:
    family = start("loud")
    empty_group(family.group.pid, family.group.started_at, RUN, grace=PATIENCE_S)
    assert family.process.stdout is not None
    assert family.process.stdout.read().count(b"heard") == 2  # by each of the two


def test_a_stopped_process_hears_sigterm_too(start: Callable[..., Family]) -> None:
    family = start()
    os.killpg(family.process.pid, signal.SIGSTOP)
    empty_group(family.group.pid, family.group.started_at, RUN, grace=PATIENCE_S)
    assert family.process.wait() == -signal.SIGTERM


def test_a_leader_with_another_start_time_is_somebody_else(start: Callable[..., Family]) -> None:
    family = start()
    assert empty_group(family.group.pid, family.group.started_at - 10, RUN, grace=0)
    assert family.living() == [family.first, family.child]


def test_without_its_leader_a_group_is_known_by_the_run_in_its_environment(start: Callable[..., Family]) -> None:
    ours, foreign = start("orphan", "stubborn"), start("orphan", "stubborn", run_id="another run")
    assert empty_groups([ours.group, foreign.group], grace=0.1) == []
    assert (ours.child.is_alive, foreign.child.is_alive) == (False, True)


def test_who_has_left_the_session_is_not_followed(start: Callable[..., Family]) -> None:
    family = start("escaped")
    assert empty_group(family.group.pid, family.group.started_at, RUN, grace=PATIENCE_S)
    assert (family.first.is_alive, family.child.is_alive) == (False, True)


def test_the_dead_that_nobody_buries_do_not_count(start: Callable[..., Family]) -> None:
    family = start()
    os.killpg(family.process.pid, signal.SIGKILL)
    os.waitid(os.P_PID, family.process.pid, os.WEXITED | os.WNOWAIT)
    assert empty_group(family.group.pid, family.group.started_at, RUN, grace=PATIENCE_S)
    assert look_at(family.process.pid) is not None
    assert living(family.group) == []


def test_emptying_twice_is_the_same_as_once(start: Callable[..., Family]) -> None:
    family = start()
    assert empty_group(family.group.pid, family.group.started_at, RUN, grace=PATIENCE_S)
    assert empty_group(family.group.pid, family.group.started_at, RUN, grace=PATIENCE_S)
