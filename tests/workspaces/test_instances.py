"""What every kind of instances must do, tried on processes: each test is for the protocol."""

from __future__ import annotations

import http.client
import os
import signal
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from msgspec import structs

from holdfast.core.errors import Conflict
from holdfast.core.messages.workspaces import InstanceContext
from holdfast.runtime.sessions import processes
from holdfast.tasks.raising import Stopped
from holdfast.workspaces.backends.local_process import LocalProcesses
from holdfast.workspaces.backends.protocols import BackendFailed, CommandRefused, StartOrder
from tests.chaos.processes import until

SERVE = (sys.executable, "-m", "http.server", "{port}", "--bind", "127.0.0.1")
SLEEP = ("sleep", "600")


def go_on() -> None:
    """Nobody asks it to stop."""


class Started:
    """The instances that a test starts, and what was noted of them."""

    def __init__(self, tmp_path: Path) -> None:
        self.home = tmp_path / "home"
        self.home.mkdir()
        self.logs = tmp_path / "logs"
        self.backend = LocalProcesses(lambda key: self.logs / f"{key}.log", {"HOLDFAST_HOME": "/hf"}, grace_s=0.5)
        self.noted: list[InstanceContext] = []
        self.port: int | None = None

    def note(self, instance: InstanceContext, port: int | None) -> None:
        """Store it, while its process waits at the gate."""
        [waiting] = processes.living(processes.ProcessGroup(instance.pid, instance.started_at, instance.run_id))
        cmdline = Path(f"/proc/{waiting.pid}/cmdline")
        # It is empty for a moment while the launcher itself begins.
        until(cmdline.read_bytes, "the launcher is there")
        assert b"launch.py" in cmdline.read_bytes()
        self.noted.append(instance)
        self.port = port

    def start(self, *command: str, check: Any = go_on, note: Any = None, **env: str) -> InstanceContext:
        """Start one in the home."""
        order = StartOrder(
            workspace_id="w", name="dev", run_id=str(uuid4()), command=command, env=env, home=str(self.home)
        )
        self.backend.start(order, note or self.note, check)
        return self.noted[-1]

    def runs(self, instance: InstanceContext) -> bool | None:
        return self.backend.observe({"w": instance}).get("w")

    def log(self) -> str:
        return (self.logs / "w.log").read_text()


@pytest.fixture
def started(tmp_path: Path) -> Iterator[Started]:
    made = Started(tmp_path)
    yield made
    for instance in made.noted:
        made.backend.stop(instance, go_on)


def test_it_runs_when_its_port_answers(started: Started) -> None:
    (started.home / "note").write_text("hello")
    instance = started.start(*SERVE)
    assert started.runs(instance)
    connection = http.client.HTTPConnection("127.0.0.1", started.port or 0, timeout=10)
    connection.request("GET", "/note")
    assert connection.getresponse().read() == b"hello"
    connection.close()
    started.backend.stop(instance, go_on)
    started.backend.stop(instance, go_on)
    assert started.runs(instance) is False


def test_whoever_is_connected_to_its_port_is_seen(started: Started) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port: int = listening.getsockname()[1]
        assert started.backend.used({"w": port}) == set(), "that it listens is no use"
        with socket.create_connection(("127.0.0.1", port)):
            assert started.backend.used({"w": port, "other": 1}) == {"w"}


def test_it_begins_in_its_home_with_the_variables_of_a_command(started: Started) -> None:
    started.start("sh", "-c", "pwd; env; exec sleep 600", LEVEL="3", HOME="/elsewhere")
    until(lambda: "LEVEL=3" in started.log(), "it has printed")
    lines = started.log().splitlines()
    assert lines[0] == str(started.home)
    told = dict(line.split("=", 1) for line in lines[1:] if "=" in line)
    assert told.keys() - {"PATH", "USER", "LANG", "TERM", "PWD", "SHLVL", "_", "OLDPWD"} == {
        "HOME",
        "HOLDFAST_HOME",
        "HOLDFAST_WORKSPACE",
        "HOLDFAST_RUN_ID",
        "LEVEL",
    }
    assert (told["HOME"], told["HOLDFAST_WORKSPACE"], told["HOLDFAST_HOME"]) == (str(started.home), "dev", "/hf")


def test_the_port_is_in_its_environment_too(started: Started) -> None:
    started.start("sh", "-c", 'exec "$0" -m http.server "$PORT" --bind 127.0.0.1 # {port}', sys.executable)
    assert started.port


def test_what_it_prints_is_added_to_its_log(started: Started) -> None:
    for word in ("one", "two"):
        instance = started.start("sh", "-c", f"echo {word}; exec sleep 600")
        started.backend.stop(instance, go_on)
    assert [line for line in started.log().splitlines() if not line.startswith("holdfast:")] == ["one", "two"]
    assert started.log().count("holdfast: the program has ended by signal 15") == 2
    assert os.stat(started.logs / "w.log").st_mode & 0o777 == 0o600
    started.backend.forget("w")
    started.backend.forget("w")
    assert not (started.logs / "w.log").exists()


def test_a_command_that_is_not_there_is_refused_and_the_log_says_so(started: Started) -> None:
    with pytest.raises(CommandRefused, match="there is no command 'nothing-like-it'"):
        started.start("nothing-like-it")
    assert "holdfast: there is no command 'nothing-like-it'" in started.log()
    assert started.runs(started.noted[-1]) is False


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (("sh", "-c", "echo kaputt; exit 3"), "with code 3 at once; its last line: kaputt"),
        (("sh", "-c", "echo {port}; exit 3"), "with code 3 before its port answered"),
        (("sh", "-c", "kill -9 $$"), "by signal 9 at once"),
    ],
)
def test_one_that_ends_at_once_is_a_failed_try(started: Started, command: tuple[str, ...], said: str) -> None:
    with pytest.raises(BackendFailed, match=said):
        started.start(*command)
    assert started.runs(started.noted[-1]) is False


def test_a_try_that_is_asked_to_stop_ends_what_it_began(started: Started) -> None:
    asked = iter(range(10))

    def check() -> None:
        if next(asked) > 3:
            raise Stopped

    with pytest.raises(Stopped):
        started.start("sh", "-c", "sleep 600 & sleep 600; {port}", check=check)
    assert started.runs(started.noted[-1]) is False


def test_what_cannot_be_stored_never_begins(started: Started) -> None:
    begun = started.home / "begun"

    def refuse(instance: InstanceContext, port: int | None) -> None:
        started.noted.append(instance)
        raise Conflict("the run is closed")

    with pytest.raises(Conflict):
        started.start("touch", str(begun), note=refuse)
    assert started.runs(started.noted[-1]) is False
    assert not begun.exists()


def test_what_it_has_started_belongs_to_it(started: Started) -> None:
    """Its first process ends, and others go on: it runs, and is ended with all of them."""
    instance = started.start("sh", "-c", "(sleep 600 &) ; sleep 0.5")
    until(lambda: not processes.look_at(instance.pid) or started.runs(instance), "the first one has ended")
    os.kill(instance.pid, signal.SIGKILL)
    until(lambda: processes.look_at(instance.pid) is None or not processes.look_at(instance.pid).is_alive, "it is gone")  # type: ignore[union-attr]
    assert started.runs(instance)
    started.backend.stop(instance, go_on)
    assert started.runs(instance) is False


def test_one_that_ignores_sigterm_is_killed(started: Started) -> None:
    instance = started.start("sh", "-c", "trap '' TERM; while :; do sleep 0.1; done")
    started.backend.stop(instance, go_on)
    assert started.runs(instance) is False


def test_a_pid_that_is_used_again_is_another_process(started: Started) -> None:
    instance = started.start(*SLEEP)
    later = structs.replace(instance, started_at=instance.started_at + 10)
    assert started.runs(later) is False
    started.backend.stop(later, go_on)
    assert started.runs(instance), "nothing was done to the other process"


def test_one_of_another_boot_has_ended_and_is_left_alone(started: Started) -> None:
    instance = started.start(*SLEEP)
    before = structs.replace(instance, boot_id="another boot")
    assert started.backend.began_in_another_boot(before)
    assert started.runs(before) is False
    started.backend.stop(before, go_on)
    assert started.runs(instance)


def test_a_log_that_is_too_long_keeps_its_newer_half_and_goes_on(started: Started) -> None:
    started.start("sh", "-c", "seq 1 100000; while [ ! -e go ]; do sleep 0.02; done; echo last; exec sleep 600")
    until(lambda: "\n100000\n" in started.log(), "it has printed")
    started.backend.trim_logs(["w", "no such workspace"], most=100_000)
    kept = started.log().splitlines()
    assert kept[-1] == "100000"
    assert 40_000 <= len(started.log()) <= 50_000
    assert kept == [str(number) for number in range(int(kept[0]), 100_001)]
    (started.home / "go").touch()
    until(lambda: started.log().endswith("100000\nlast\n"), "it goes on at the end")
    before = started.log()
    started.backend.trim_logs(["w"], most=100_000)
    assert started.log() == before
