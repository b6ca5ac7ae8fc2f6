"""Who tells of input: real programs are asked, put on the path by the test."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from holdfast.core.machine.readings import InputSeen, LoadSeen
from holdfast.runtime.machine.idleness import HidIdleTime, Logind, XPrintIdle
from holdfast.runtime.machine.load import CpuLoad, CpuTimes, cpu_times
from holdfast.runtime.machine.system_programs import output_of
from tests.chaos.processes import until

pytestmark = pytest.mark.processes

NOW_S = 5_000.0
AGO_7_MIN = round((NOW_S - 420) * 1_000_000)

Install = Callable[[str, str], None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Puts a program on the path, in front of the real one."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder), prepend=":")

    def install(name: str, script: str) -> None:
        program = folder / name
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)

    return install


def session(**fields: object) -> str:
    known = {"Type": "tty", "Class": "user", "State": "active", "IdleHint": "no", "IdleSinceHintMonotonic": 0}
    return "\n".join(f"{name}={value}" for name, value in (known | fields).items())


def logind(install: Install, *sessions: str) -> InputSeen | None:
    """What is seen where logind has these sessions."""
    listed = "\n".join(f"{number} 1000 ada seat0 tty{number}" for number, _ in enumerate(sessions, 1))
    blocks = "\n\n".join(sessions)
    install("loginctl", f"case $1 in list-sessions) cat <<E\n{listed}\nE\n;; *) cat <<E\n{blocks}\nE\n;; esac")
    return Logind(lambda: NOW_S).look()


def test_a_terminal_tells_when_it_was_last_typed_in(install: Install) -> None:
    assert logind(install, session(IdleSinceHintMonotonic=AGO_7_MIN)) == InputSeen("logind", 420_000)


def test_a_desktop_tells_since_when_it_has_been_idle(install: Install) -> None:
    idle = session(Type="wayland", IdleHint="yes", IdleSinceHintMonotonic=AGO_7_MIN)
    assert logind(install, idle) == InputSeen("logind", 420_000)


def test_a_desktop_that_is_not_idle_is_in_use_now(install: Install) -> None:
    back = session(Type="x11", IdleHint="no", IdleSinceHintMonotonic=AGO_7_MIN)
    assert logind(install, back) == InputSeen("logind", 0)


def test_the_session_that_was_used_last_counts(install: Install) -> None:
    idle = session(IdleSinceHintMonotonic=AGO_7_MIN)
    remote = session(Remote="yes", IdleSinceHintMonotonic=round((NOW_S - 3) * 1_000_000))
    assert logind(install, idle, remote) == InputSeen("logind", 3_000)


def test_sessions_that_nobody_can_type_in_do_not_count(install: Install) -> None:
    moment = round(NOW_S * 1_000_000)
    unseen = (
        session(Class="greeter", IdleSinceHintMonotonic=moment),
        session(Class="manager", IdleSinceHintMonotonic=moment),
        session(State="closing", IdleSinceHintMonotonic=moment),
        session(State="online", IdleSinceHintMonotonic=moment),
    )
    assert logind(install, *unseen) is None
    assert logind(install, *unseen, session(IdleSinceHintMonotonic=AGO_7_MIN)) == InputSeen("logind", 420_000)


def test_a_session_that_never_said_anything_tells_nothing_unless_its_desktop_would(install: Install) -> None:
    assert logind(install, session(Type="wayland", Desktop="KDE")) is None
    assert logind(install, session(Type="wayland", Desktop="GNOME")) == InputSeen("logind", 0)


@pytest.mark.parametrize("script", ["exit 1", "", "echo nonsense", "echo 1; exit 1", "kill -9 $$"])
def test_where_logind_fails_another_source_is_asked(install: Install, script: str) -> None:
    install("loginctl", script)
    assert Logind().look() is None


def test_a_program_that_hangs_is_not_waited_for_and_leaves_nobody_behind(install: Install, tmp_path: Path) -> None:
    install("loginctl", f"sleep 1000 & echo $! > {tmp_path}/child; wait")
    assert output_of("loginctl", limit=0.5) is None
    child = tmp_path / "child"
    if child.exists():  # On a busy machine it may not have come so far.
        folder = Path(f"/proc/{child.read_text().strip()}/cwd")
        until(lambda: not folder.exists(), "what it started is gone")


def test_a_program_that_is_not_there_tells_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert Logind().look() is XPrintIdle().look() is HidIdleTime().look() is None


def test_x11_counts_milliseconds_where_there_is_a_display(install: Install, monkeypatch: pytest.MonkeyPatch) -> None:
    install("xprintidle", "echo 420000")
    monkeypatch.setenv("DISPLAY", ":0")
    assert XPrintIdle().look() == InputSeen("X11", 420_000)
    monkeypatch.delenv("DISPLAY")
    assert XPrintIdle().look() is None


def test_macos_counts_nanoseconds(install: Install) -> None:
    install("ioreg", """echo '  |   "HIDIdleTime" = 420000000999'""")
    assert HidIdleTime().look() == InputSeen("macOS", 420_000)


def test_the_load_is_what_others_use_of_the_processors() -> None:
    times = iter([CpuTimes(2, 100, 50, 5), CpuTimes(2, 120, 60, 9), CpuTimes(2, 140, 60, 9)])
    source = CpuLoad(lambda: next(times))
    assert source.look() is None, "there is nothing to compare with"
    assert source.look() == LoadSeen("load", 0.3)
    assert source.look() == LoadSeen("load", 0.0)


def test_a_look_right_after_another_keeps_what_that_found() -> None:
    times = iter([CpuTimes(2, 0, 0, 0), CpuTimes(2, 20, 10, 0), CpuTimes(2, 21, 11, 0), CpuTimes(2, 40, 10, 0)])
    source = CpuLoad(lambda: next(times))
    source.look()
    assert [source.look() for _ in range(3)] == [LoadSeen("load", 0.5), LoadSeen("load", 0.5), LoadSeen("load", 0.0)]


def test_this_machine_counts_its_processors_time() -> None:
    found = cpu_times()
    assert found.own > 0
    assert 0 < found.busy <= found.total
