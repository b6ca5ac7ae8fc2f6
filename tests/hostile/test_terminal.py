"""Whatever a stranger writes into names, payloads, errors and logs, a terminal obeys none of it."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest

import holdfast.cli
from holdfast import Holdfast
from holdfast.cli.app import SECTIONS
from holdfast.cli.frame.jobs_shown import is_over
from tests.chaos.processes import until
from tests.cli.shell import APP, Shell
from tests.daemon.house import House

CLI = Path(holdfast.cli.__file__).parent

# In labels there is no control character below a space; in payloads, errors and output there is everything.
LABEL = "evil\x9b7m\u202e\u2066"
TEXT = f"{LABEL}\x1b[45m\x1b]0;evil\x07\r"
OBEYED = ("\x9b", "\u202e", "\u2066", "\x1b[45m", "\x1b]", "\x07", "\x1b[7m")


def test_there_is_one_way_to_the_terminal() -> None:
    """Others than `output` neither print nor write; a script for shells and the help are our own words."""
    found = []
    for path in sorted(CLI.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            match node:
                case ast.Call(func=ast.Name("print")):
                    found.append(path.name)
                case ast.Call(func=ast.Attribute(value=ast.Name("click"), attr="echo" | "secho")):
                    found.append(path.name)
                case ast.Call(func=ast.Attribute(value=ast.Attribute(attr="stdout" | "stderr"), attr="write")):
                    found.append(path.name)
    assert set(found) == {"output.py", "completion_script.py", "app.py", "progress.py"}


@pytest.fixture
def sh(house: House, tmp_path: Path) -> Shell:
    """A shell for a home in which a stranger was."""
    house.settings('[webhooks]\nallow = ["127.0.0.1"]\n')
    house.up("--app", APP)
    hf = house.client()
    until(lambda: bool(hf.workers()), "somebody works")
    fill(hf, tmp_path / f"folder{LABEL.replace(chr(0x9B), '')}")
    until(lambda: all(is_over(hf.job(number).state) for number in (1, 2)), "the job and the command have failed")
    return Shell(house.home)


def fill(hf: Holdfast, folder: Path) -> None:
    options: dict[str, Any] = {"subject": LABEL, "tag": LABEL, "tenant": LABEL}
    hf.enqueue("fail", {"reason": TEXT}, **options)
    hf.command("sh", "-c", f"printf %s '{TEXT}'; exit 3", TEXT, **{**options, "subject": "other"})
    hf.enqueue("nobody", {"key": TEXT}, queue="closed", on_event="never", **{**options, "subject": "third"})
    hf.pause("closed", reason=LABEL)
    hf.emit("evil", what=LABEL)
    folder.mkdir()
    hf.add_watch(folder, name="w", task="nobody", ignores=[LABEL], subject=LABEL, tenant=LABEL)
    hf.add_webhook("http://127.0.0.1:9/evil", on="none.*", name="hook")
    hf.create_template("t", "nobody", {"x": TEXT})
    hf.create_schedule("s", cron="0 0 1 1 *", template="t")


WORDS = [
    "ls --all", "ls --all --json", "show 1", "show 1 --json", "show 2", "show 3", "why 1", "why 2", "why 3",
    "why 3 --json", "logs 2", "logs 2 --json", "logs 1", "wait 1", "wait 2", "status", "top --once", "sessions",
    "doctor", "queue ls", "queue show closed", "tenant ls", "dead ls", "dead show 1", "events ls", "watch ls",
    "watch show w", "watch show w --json", "webhook ls", "webhook show hook", "template ls", "template show t",
    "schedule ls", "schedule show s", "tokens", "show nothing", "watch show nothing",
]  # fmt: skip


def test_no_command_lets_it_through(sh: Shell) -> None:
    showed = set()
    for words in WORDS:
        terminal = sh.terminal(*words.split())
        terminal.end()
        assert not [mark for mark in OBEYED if mark in terminal.raw], (words, terminal.raw)
        if "evil" in terminal.text:
            showed.add(words)
    assert len(showed) > len(WORDS) // 2, showed
    named = {word for section in SECTIONS.values() for word in section}
    assert {words.split()[0] for words in WORDS} <= named
