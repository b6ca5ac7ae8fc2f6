"""The payload of the task `command`: what may be stored, and what a process can be started with."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from holdfast.core.errors import InvalidPayload
from holdfast.core.rules import limits, rule
from holdfast.core.rules.rule import TEXTS
from holdfast.core.settings.rule_table import RULES
from holdfast.core.values.filling import MARK, PREVIOUS

ARGUMENTS = ("argv", "cwd", "env", "grace_s", "memory_mb", "cpu_s")
_UNUSABLE = re.compile(r"[\x00\ud800-\udfff]")


def check_command(arguments: Mapping[str, Any], *, in_part: bool = False) -> None:
    """Refuse a command that can never start, before it is stored. `in_part`: other arguments may be added to these.

    An argument that stands for the result of the job before is checked when the run starts.
    """
    if "argv" not in arguments and not in_part:
        raise _no_program()
    unknown = next((name for name in arguments if name not in ARGUMENTS), None)
    if unknown is not None:
        raise InvalidPayload(f"a command has no argument {limits.shown(unknown)}: use {', '.join(ARGUMENTS)}")
    known = {name: value for name, value in arguments.items() if value is not PREVIOUS and value != MARK}
    if "grace_s" in known and known["grace_s"] is None:
        raise InvalidPayload(str(RULES["grace_s"].refusal("grace_s", None)))
    _check("env", known.get("env"))
    check_start(known)


def check_start(arguments: Mapping[str, Any]) -> None:
    """Refuse what no process could be started with.

    A stored job may have more variables, and longer ones, than may be stored now.
    """
    if "argv" in arguments:
        _check_argv(arguments["argv"])
    cwd = arguments.get("cwd")
    if cwd is not None:
        if not isinstance(cwd, str):
            raise InvalidPayload(f"cwd {limits.shown(cwd)} is not the path of a folder")
        _check_text(f"cwd {limits.shown(cwd)}", cwd)
        if not cwd.startswith("/"):
            raise InvalidPayload(
                f"cwd {limits.shown(cwd)} is not an absolute path; it would mean another folder elsewhere"
            )
    for name, text in (arguments.get("env") or {}).items():
        if not name or "=" in name or _UNUSABLE.search(name):
            raise InvalidPayload(
                f"{limits.shown(name)} cannot name an environment variable: it is empty, or holds = or NUL"
            )
        _check_text(f"environment variable {limits.shown(name)}", text)
    for name in ("grace_s", "memory_mb", "cpu_s"):
        _check(name, arguments.get(name))


def _check(name: str, value: Any) -> None:
    """Ask the table, if the argument is given."""
    if value is not None and not RULES[name].allows(value):
        raise InvalidPayload(str(RULES[name].refusal(name, value)))


def _check_argv(argv: Any) -> None:
    if not isinstance(argv, list | tuple):
        raise InvalidPayload(str(rule.refusal("argv", argv, TEXTS)))
    for word in argv:
        if not isinstance(word, str):
            raise InvalidPayload(
                f"{limits.shown(word)} is not an argument of a command: give text, each argument by itself"
            )
        _check_text(f"argument {limits.shown(word)}", word)
    if not argv or not argv[0]:
        raise _no_program()


def _no_program() -> InvalidPayload:
    return InvalidPayload("a command needs at least the name of a program: argv is empty")


def _check_text(what: str, text: str) -> None:
    if _UNUSABLE.search(text):
        raise InvalidPayload(f"{what} holds a NUL or half a character, which no program can be given")
