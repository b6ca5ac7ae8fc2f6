"""The task `command`: a program with its arguments, never a line for a shell."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from holdfast.core.errors import InvalidPayload
from holdfast.core.limits import shown
from holdfast.core.requests import COMMAND, Claimed
from holdfast.runtime.processes import GRACE_S
from holdfast.workers.environment import clean, identity
from holdfast.workers.files import RunFiles
from holdfast.workers.launching import Program
from holdfast.workers.schema import PayloadSchema
from holdfast.workers.spec import TaskSpec

LONGEST_GRACE_S = 3_600
MOST_MEMORY_MB = 1 << 30
MOST_CPU_S = 1 << 30

_VARIABLE = re.compile(r"[^=\x00]+")
_UNUSABLE = re.compile(r"[\x00\ud800-\udfff]")


def command(
    argv: list[str],
    cwd: str | None = None,
    env: dict[str, str] | None = None,
    grace_s: float = GRACE_S,
    memory_mb: int | None = None,
    cpu_s: int | None = None,
) -> dict[str, int]:
    """The shape of a command's payload and result; what runs is the program that `argv` names."""
    raise NotImplementedError("a command runs in a process of its own")


def program_of(arguments: Mapping[str, Any], claimed: Claimed, files: RunFiles) -> Program:
    """The program that a command's payload means; InvalidPayload says what is wrong with it."""
    check_command(arguments)
    own = arguments.get("env") or {}
    return Program(
        argv=tuple(arguments["argv"]),
        env=clean(own) | identity(claimed, files.make_artifact_folder()),
        cwd=arguments.get("cwd"),
        grace_s=arguments.get("grace_s", GRACE_S),
        memory_mb=arguments.get("memory_mb"),
        cpu_s=arguments.get("cpu_s"),
    )


def check_command(arguments: Mapping[str, Any]) -> None:
    """Refuse what no process could be started with."""
    argv = arguments["argv"]
    if not argv or not argv[0]:
        raise InvalidPayload("a command needs at least the name of a program: argv is empty")
    for word in argv:
        _check_text("argument", word)
    cwd = arguments.get("cwd")
    if cwd is not None:
        _check_text("cwd", cwd)
        if not cwd.startswith("/"):
            raise InvalidPayload(f"cwd {shown(cwd)} is not an absolute path; it would mean another folder elsewhere")
    for name, value in (arguments.get("env") or {}).items():
        if not _VARIABLE.fullmatch(name) or _UNUSABLE.search(name):
            raise InvalidPayload(f"{shown(name)} cannot name an environment variable: it is empty, or holds = or NUL")
        _check_text(f"environment variable {name!r}", value)
    _check_number("grace_s", arguments.get("grace_s", GRACE_S), 0, LONGEST_GRACE_S)
    _check_number("memory_mb", arguments.get("memory_mb"), 1, MOST_MEMORY_MB)
    _check_number("cpu_s", arguments.get("cpu_s"), 1, MOST_CPU_S)


def _check_text(what: str, value: str) -> None:
    if _UNUSABLE.search(value):
        raise InvalidPayload(f"{what} {shown(value)} holds a NUL or half a character, which no program can be given")


def _check_number(what: str, value: float | None, low: float, high: float) -> None:
    if value is not None and not low <= value <= high:
        raise InvalidPayload(f"{what} {shown(value)} is not valid: use {low} to {high}")


SPEC = TaskSpec(
    name=COMMAND,
    queue="default",
    function=command,
    schema=PayloadSchema(COMMAND, command, skip_first=False),
    wants_context=False,
    permanent=(),
    program=program_of,
)
