"""What every command has in common: help with an example, JSON, exit codes, no traceback."""

from __future__ import annotations

from collections.abc import Iterator

import click
import pytest

from holdfast.cli.app import WHERE, load
from tests.cli.shell import Shell


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
    ("words", "said"),
    [
        (("up", "--port", "x"), "--port 'x' is not valid: use a whole number from 0 to 65535"),
        (("up", "--workers", "x"), "--workers 'x' is not valid: use a whole number from 0 to 1000"),
        (("tenant", "weight", "a", "x"), "weight 'x' is not valid: use a whole number from 1 to 1000000"),
    ],
)
def test_what_is_no_number_is_told_the_bounds(empty: Shell, words: tuple[str, ...], said: str) -> None:
    assert empty(*words).err == f"holdfast: {said}\n"


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


def test_the_home_may_stand_before_the_command(sh: Shell, empty: Shell) -> None:
    assert empty.ok("--home", sh.home.folder, "status", "--json").json["daemon"]["home"] == str(sh.home.folder)
    assert empty.ok("status", "--home", sh.home.folder, "--json").json["daemon"]["home"] == str(sh.home.folder)
