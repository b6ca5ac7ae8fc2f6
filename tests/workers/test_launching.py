"""Nothing of a program happens before its process was let through the gate, and nothing of the worker leaks into it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from holdfast.core.values.retry import FailureKind
from holdfast.runtime.sessions.processes import RUN_VARIABLE, look_at
from holdfast.tasks.program import Program
from holdfast.workers.process.launching import Gated, encoded, why_not_started
from holdfast.workers.process.watching import ProcessWatch, WakePipe
from tests.chaos.processes import KnownProcess
from tests.client.acts import wait_until

ROOT = Path(__file__).parents[2]
PATH = os.environ["PATH"]


class Followed:
    """A program that ran to its end."""

    def __init__(self, *argv: str, env: dict[str, str] | None = None, **more: object) -> None:
        self.program = Program(argv=argv, env={"PATH": PATH} if env is None else env, **more)  # type: ignore[arg-type]
        written: list[bytes] = []
        wake_up, process = WakePipe(), Gated("the run")
        watch = ProcessWatch(process, self.program, wake_up, written.append, lambda: (False, None))
        process.open(self.program)
        self.status = watch.follow()
        process.close()
        wake_up.close()
        self.output = b"".join(written).decode()
        self.failure = why_not_started(watch.failure, self.program) if watch.failure else None


@pytest.fixture
def gated() -> Iterator[Callable[[], Gated]]:
    made: list[Gated] = []

    def start() -> Gated:
        made.append(Gated("the run"))
        return made[-1]

    yield start
    for process in made:
        process.close()


def known(process: Gated) -> KnownProcess:
    return KnownProcess(process.group.pid, process.group.started_at)


def test_a_gate_that_closes_starts_nothing(gated: Callable[[], Gated], tmp_path: Path) -> None:
    process = gated()
    assert process.status is None
    process.close()
    assert wait_until(lambda: not known(process).is_alive)
    assert list(tmp_path.iterdir()) == []


def test_half_a_program_starts_nothing(gated: Callable[[], Gated], tmp_path: Path) -> None:
    process = gated()
    text = encoded(Program(argv=("touch", str(tmp_path / "started")), env={"PATH": PATH}))
    os.write(process._gate.fileno(), text[:-1])
    process.close()
    assert wait_until(lambda: not known(process).is_alive)
    assert list(tmp_path.iterdir()) == []


WAITING_PARENT = """
import sys, time
from holdfast.workers.process.launching import Gated
print(Gated("the run").group.pid, flush=True)
time.sleep(3600)
"""


def test_the_death_of_the_worker_closes_the_gate() -> None:
    with subprocess.Popen([sys.executable, "-c", WAITING_PARENT], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        gated = KnownProcess.of(int(parent.stdout.readline()))
        assert gated.is_alive
        parent.kill()
    assert wait_until(lambda: not gated.is_alive)


def test_a_process_at_the_gate_is_known_by_its_run_and_leads_a_session(gated: Callable[[], Gated]) -> None:
    group = gated().group
    seen = look_at(group.pid)
    assert seen is not None
    assert (seen.group, seen.session) == (group.pid, group.pid)
    # Empty for a moment while the kernel still lays it out.
    environ = Path(f"/proc/{group.pid}/environ")
    assert wait_until(lambda: f"{RUN_VARIABLE}=the run\0" in environ.read_text())


def test_output_and_errors_come_in_order_through_one_pipe() -> None:
    done = Followed("sh", "-c", "echo out; echo err >&2; echo end")
    assert (done.status, done.output) == (0, "out\nerr\nend\n")


def test_a_program_has_the_environment_it_was_given_and_no_other() -> None:
    done = Followed("env", env={"PATH": PATH, "MINE": "1\n2", "ÄÖ": "ü"})
    assert sorted(done.output.split("\n")) == sorted(f"MINE=1\n2\nPATH={PATH}\nÄÖ=ü\n".split("\n"))


def test_a_program_has_only_the_three_standard_files() -> None:
    assert Followed("sh", "-c", "ls /proc/$$/fd").output.split() == ["0", "1", "2"]


def test_arguments_arrive_as_they_are() -> None:
    assert Followed("printf", "%s|", "a b", "$HOME", "*", "", "'\"").output == "a b|$HOME|*||'\"|"


def test_no_signal_is_ignored_or_blocked_that_python_or_the_worker_ignores() -> None:
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
    before = signal.signal(signal.SIGQUIT, signal.SIG_IGN)
    try:
        done = Followed("grep", "-E", "Sig(Blk|Ign)", "/proc/self/status")
    finally:
        signal.signal(signal.SIGQUIT, before)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGUSR1])
    # The C library keeps two signals to itself, and lets nobody set them right.
    ours = sum(1 << (number - 1) for number in signal.valid_signals())
    assert [int(line.split()[1], 16) & ours for line in done.output.splitlines()] == [0, 0]


def test_standard_input_is_empty() -> None:
    assert Followed("cat").status == 0


def test_a_program_starts_in_its_folder(tmp_path: Path) -> None:
    assert Followed("pwd", cwd=str(tmp_path)).output == f"{tmp_path}\n"


def test_a_limit_of_memory_holds() -> None:
    done = Followed(sys.executable, "-c", "bytearray(1 << 30)", memory_mb=300)
    assert (done.status, "MemoryError" in done.output) == (1, True)


def test_a_limit_of_cpu_time_ends_the_program() -> None:
    assert Followed("sh", "-c", "while :; do :; done", cpu_s=1).status == -signal.SIGXCPU


@pytest.mark.parametrize(
    ("argv", "options", "code", "kind"),
    [
        (("no-such-command",), {}, "ERR_COMMAND_NOT_FOUND", FailureKind.PERMANENT),
        (("/no/such/command",), {}, "ERR_COMMAND_NOT_FOUND", FailureKind.PERMANENT),
        (("/etc/passwd",), {}, "ERR_COMMAND_NOT_STARTED", FailureKind.PERMANENT),
        (("/",), {}, "ERR_COMMAND_NOT_STARTED", FailureKind.PERMANENT),
        (("echo", "x" * 1_000_000), {}, "ERR_COMMAND_NOT_STARTED", FailureKind.PERMANENT),
        (("true",), {"cwd": "/no/such/folder"}, "ERR_NO_FOLDER", FailureKind.PERMANENT),
    ],
)
def test_what_cannot_be_started_says_why(
    argv: tuple[str, ...], options: dict[str, object], code: str, kind: FailureKind
) -> None:
    failure = Followed(*argv, **options).failure  # type: ignore[arg-type]
    assert failure is not None
    assert (failure.code, failure.kind, "Errno" in failure.message) == (code, kind, False)


def test_a_program_that_exits_like_a_launcher_is_not_taken_for_one_that_did_not_start() -> None:
    done = Followed("sh", "-c", "exit 127")
    assert (done.status, done.failure) == (127, None)


def test_a_program_is_found_by_its_own_path(tmp_path: Path) -> None:
    tool = tmp_path / "tool"
    tool.write_text("#!/bin/sh\necho here\n")
    tool.chmod(0o755)
    assert Followed("tool", env={"PATH": str(tmp_path)}).output == "here\n"


def test_a_taken_exit_status_is_not_taken_for_success() -> None:
    code = """
import signal
from tests.workers.test_launching import Followed
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
print(Followed("sh", "-c", "exit 3").status)
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(1 << 16)
