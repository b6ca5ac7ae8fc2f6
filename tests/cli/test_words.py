"""What every command has in common: help with an example, JSON, exit codes, no traceback."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import click
import pytest

from holdfast.cli.app import WHERE, load
from tests.chaos.processes import PATIENCE_S
from tests.cli.shell import HOLDFAST, Shell


def commands() -> Iterator[tuple[str, click.Command]]:
    for name in WHERE:
        command = load(name)
        if isinstance(command, click.Group):
            yield from ((f"{name} {word}", inner) for word, inner in command.commands.items())
        else:
            yield name, command


COMMANDS = dict(commands())
ASKING = [name for name in COMMANDS if name != "completion"]


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_a_command_shows_an_example_of_it(name: str) -> None:
    _, _, examples = (COMMANDS[name].help or "").partition("Examples:\n")
    assert f"holdfast {name}" in examples


@pytest.mark.parametrize("name", ASKING)
def test_a_command_takes_a_home_and_prints_json(name: str) -> None:
    names = {word for parameter in COMMANDS[name].params for word in parameter.opts}
    assert {"--home", "--json"} <= names


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_is_explained(name: str) -> None:
    options = [parameter for parameter in COMMANDS[name].params if isinstance(parameter, click.Option)]
    assert [option.name for option in options if not option.hidden and not option.help] == []


@pytest.mark.parametrize("name", COMMANDS)
def test_help_shows_nothing_of_how_it_is_made(name: str) -> None:
    said = COMMANDS[name].get_help(click.Context(COMMANDS[name]))
    assert [word for word in ("None", "inspect", "<class", "object at") if word in said] == []


def test_an_option_that_must_be_said_is_asked_for(empty: Shell) -> None:
    said = empty("access", "add", "ci")
    assert (said.code, "--role" in said.err) == (2, True)


def test_without_words_it_shows_all_commands(empty: Shell) -> None:
    said = empty.ok()
    assert [name for name in WHERE if f"  {name} " not in said.out] == []


def test_a_misspelt_command_is_guessed(empty: Shell) -> None:
    said = empty("stauts")
    assert said.code == 2
    assert "there is no command 'stauts'; did you mean status?" in said.err


@pytest.mark.parametrize(
    "words",
    [
        ("ls", "--nonsense"),
        ("ls", "--limit", "0"),
        ("ls", "--since", "yesterday"),
        ("show",),
        ("move", "1"),
        ("run", "--at", "never", "--", "true"),
        ("run", "--env", "NOT_HERE", "--", "true"),
        ("enqueue", "task", "[1]"),
        ("enqueue", "task", "{"),
        ("cancel",),
        ("cancel", "1", "--tag", "x"),
        ("queue", "--limit", "1"),
        ("db", "backup"),
        ("up", "--log-format", "loud"),
        ("up", "--port", "99999"),
        ("worker",),
        ("completion", "cmd"),
    ],
    ids=" ".join,
)
def test_a_mistake_in_the_words_is_exit_code_2_and_says_what_to_do(empty: Shell, words: tuple[str, ...]) -> None:
    said = empty(*words)
    assert said.code == 2
    assert said.err
    assert "Traceback" not in said.err


@pytest.mark.parametrize(
    "words",
    [
        ("ls",),
        ("show", "1"),
        ("run", "--", "true"),
        ("enqueue", "double"),
        ("logs", "1"),
        ("status",),
        ("down",),
        ("queue",),
        ("top", "--once"),
        ("group", "ls"),
        ("direct", "--", "true"),
        ("bench",),
        ("sessions",),
    ],
    ids=" ".join,
)
def test_without_a_daemon_it_is_exit_code_3(empty: Shell, words: tuple[str, ...]) -> None:
    said = empty(*words)
    assert (said.code, said.out) == (3, "")
    assert "no daemon" in said.err
    assert len(said.err.splitlines()) == 1


def test_no_daemon_says_how_to_start_one(empty: Shell) -> None:
    assert "start one with: holdfast up" in empty("ls").err


def test_the_version_is_told(empty: Shell) -> None:
    from holdfast.version import VERSION

    assert empty.ok("--version").out == f"holdfast {VERSION}\n"


def test_what_nobody_expected_is_one_line_and_a_log(empty: Shell) -> None:
    empty.home.create()
    program = (
        "import sys, holdfast.cli.listing as listing; from holdfast.cli.app import main; "
        "listing.client = lambda home: 1 / 0; sys.argv = ['holdfast', 'ls']; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=empty.environment(), check=False
    )
    log = empty.home.log.with_name("cli.log")
    said = f"holdfast: something went wrong (ZeroDivisionError: division by zero); the details are in {log}\n"
    assert (done.returncode, done.stderr) == (1, said)
    assert "Traceback" in log.read_text()


def test_a_reader_that_goes_away_is_no_error(empty: Shell) -> None:
    line = f"{{ {HOLDFAST} --help; echo $? >&2; }} | true"
    done = subprocess.run(
        ["sh", "-c", line], capture_output=True, text=True, env=empty.environment(), timeout=PATIENCE_S, check=False
    )
    assert done.stderr in ("0\n", "141\n")


def test_the_home_may_stand_before_the_command(sh: Shell, empty: Shell) -> None:
    assert empty.ok("--home", sh.home.folder, "status", "--json").json["daemon"]["home"] == str(sh.home.folder)
    assert empty.ok("status", "--home", sh.home.folder, "--json").json["daemon"]["home"] == str(sh.home.folder)


def test_a_short_command_imports_nothing_of_a_daemon_or_an_event_loop(sh: Shell) -> None:
    heavy = ["asyncio", "uvicorn", "starlette", "rich", "psutil", "apsw", "ssl", "holdfast.daemon", "holdfast.workers"]
    program = f"import sys; from holdfast.cli.app import run; run(['ls']); sys.exit(str({heavy} & sys.modules.keys()))"
    program = program.replace(f"{heavy}", f"set({heavy})")
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=sh.environment(), check=False
    )
    assert done.stderr.strip().splitlines()[-1] == "set()"
