"""The installed program: what only a process of its own can show, and that all other tests speak to the same one."""

from __future__ import annotations

import subprocess
import sys

import pytest

from holdfast.cli.app import WHERE
from holdfast.version import VERSION
from tests.chaos.processes import PATIENCE_S, ROOT
from tests.cli.shell import HOLDFAST, Shell

# A process that knows nothing of us forks for each module, so that none finds what another has imported.
EACH_ALONE = """
import importlib, os, sys, click, msgspec, http.client, logging, subprocess
for name in sys.argv[1:]:
    pid = os.fork()
    if pid == 0:
        try:
            importlib.import_module(f"holdfast.cli.{name}")
        except BaseException as error:
            print(f"{name}: {error!r}", flush=True)
        os._exit(0)
    os.waitpid(pid, 0)
"""


def ended(*command: str, sh: Shell, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """How a command of the system ends."""
    return subprocess.run(
        command,
        input=stdin,
        capture_output=True,
        text=True,
        env=sh.environment(),
        cwd=ROOT,
        timeout=PATIENCE_S,
        check=False,
    )


def test_the_version_is_told(empty: Shell) -> None:
    assert empty.installed("--version").out == f"holdfast {VERSION}\n"


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("run", "--wait", "--", "true"), 0),
        (("show", "999999"), 1),
        (("ls", "--nonsense"), 2),
        (("ls", "--home", "/nowhere"), 3),
        (("run", "--wait", "--", "sh", "-c", "exit 7"), 7),
        (("direct", "--", "sh", "-c", "kill -TERM $$"), 143),
    ],
    ids=str,
)
def test_a_process_ends_with_the_exit_code_and_without_a_traceback(
    sh: Shell, words: tuple[str, ...], code: int
) -> None:
    said = sh.installed(*words)
    assert (said.code, bool(said.err), "Traceback" in said.err) == (code, code not in (0, 143), False), said


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("completion", "bash"),
        ("tasks", "doubel"),
        ("queue", "here", "--json"),
        ("cancel", "--tag", "nothing"),
        ("stauts",),
    ],
    ids=str,
)
def test_a_fork_says_what_the_installed_program_says(sh: Shell, words: tuple[str, ...]) -> None:
    sh.ok("run", "--queue", "here", "--delay", "1h", "--", "true")
    assert sh(*words) == sh.installed(*words)


def test_a_payload_comes_through_a_pipe(sh: Shell) -> None:
    done = ended(HOLDFAST, "enqueue", "double", "-", "--wait", sh=sh, stdin='{"x": 5}')
    assert (done.returncode, done.stdout, done.stderr) == (0, "10\n", "")


@pytest.mark.parametrize("words", ["--help", "logs {job}"])
def test_a_reader_that_goes_away_is_no_error(sh: Shell, words: str) -> None:
    job = sh.number("run", "--", "seq", 100_000)
    sh.ok("wait", job)
    done = ended("sh", "-c", f"{{ {HOLDFAST} {words.format(job=job)}; echo $? >&2; }} | true", sh=sh)
    assert done.stderr in ("0\n", "141\n")


def test_a_shell_completes_by_the_installed_program(sh: Shell) -> None:
    asked = {"_HOLDFAST_COMPLETE": "bash_complete", "COMP_WORDS": "holdfast stat", "COMP_CWORD": "1"}
    said = sh.installed(env=asked)
    assert (said.code, said.out, said.err) == (0, "plain,status\n", "")


def test_what_nobody_expected_is_one_line_and_a_log(empty: Shell) -> None:
    empty.home.create()
    program = (
        "import sys, holdfast.cli.jobs.listing as listing; from holdfast.cli.app import main; "
        "listing.client = lambda: 1 / 0; sys.argv = ['holdfast', 'ls']; main()"
    )
    done = ended(sys.executable, "-c", program, sh=empty)
    log = empty.home.log.with_name("cli.log")
    said = f"holdfast: something went wrong (ZeroDivisionError: division by zero); the details are in {log}\n"
    assert (done.returncode, done.stderr) == (1, said)
    assert "Traceback" in log.read_text()


def test_a_short_command_imports_nothing_of_a_daemon_or_an_event_loop(sh: Shell) -> None:
    heavy = {"asyncio", "uvicorn", "starlette", "rich", "psutil", "apsw", "ssl", "holdfast.daemon", "holdfast.workers"}
    program = f"import sys; from holdfast.cli.app import run; run(['ls']); sys.exit(str({heavy} & sys.modules.keys()))"
    assert ended(sys.executable, "-c", program, sh=sh).stderr.strip().splitlines()[-1] == "set()"


@pytest.mark.parametrize(
    "words",
    [
        "ls",
        "show 1",
        "why 1",
        "logs 1",
        "run --delay 1h -- true",
        'enqueue double {"x":1} --delay 1h',
        "cancel 1",
        "status",
    ],
)
def test_a_short_command_imports_no_script(sh: Shell, words: str) -> None:
    job = sh.number("run", "--delay", "1h", "--", "true")
    chosen = [str(job) if word == "1" else word for word in words.split()]
    program = (
        f"import sys; from holdfast.cli.app import run; run({chosen}); "
        "sys.exit(str(sorted(name for name in sys.modules if name.startswith('holdfast.store.scripts'))))"
    )
    assert ended(sys.executable, "-c", program, sh=sh).stderr.strip().splitlines()[-1] == "[]"


def test_the_module_of_every_command_needs_no_other_to_be_imported_first(empty: Shell) -> None:
    done = ended(sys.executable, "-c", EACH_ALONE, *sorted(set(WHERE.values())), sh=empty)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
