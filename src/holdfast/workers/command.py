"""The task `command`: a program with its arguments, never a line for a shell."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from holdfast.core.errors import InvalidInput, InvalidPayload
from holdfast.core.limits import shown
from holdfast.core.requests import COMMAND, Claimed
from holdfast.core.rules import RULES
from holdfast.core.variables import check_variables
from holdfast.runtime.processes import GRACE_S
from holdfast.workers.environment import kept_variables
from holdfast.workers.launching import Program
from holdfast.workers.schema import PayloadSchema
from holdfast.workers.spec import TaskSpec

_UNUSABLE = re.compile(r"[\x00\ud800-\udfff]")


def command(
    argv: list[str],
    cwd: str | None = None,
    env: dict[str, str] | None = None,
    grace_s: float = GRACE_S,
    memory_mb: int | None = None,
    cpu_s: int | None = None,
) -> dict[str, int]:
    """The payload and the result of a command. What runs is the program of `argv`."""
    raise NotImplementedError("a command runs in a process of its own")


def program_of(arguments: Mapping[str, Any], claimed: Claimed) -> Program:
    """The program of the payload of a command. InvalidPayload says what is wrong with it."""
    check_command(arguments)
    return Program(
        argv=tuple(arguments["argv"]),
        env=kept_variables(),
        # Before they were an option, variables were in the payload.
        own={**(arguments.get("env") or {}), **(claimed.env or {})},
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
    _check_variables(arguments.get("env") or {})
    for name in ("grace_s", "memory_mb", "cpu_s"):
        value = arguments.get(name)
        if value is not None and not RULES[name].allows(value):
            raise InvalidPayload(str(RULES[name].refusal(name, value)))


def _check_variables(given: Mapping[str, str]) -> None:
    try:
        check_variables("env", given)
    except InvalidInput as error:
        raise InvalidPayload(str(error)) from None


def _check_text(what: str, value: str) -> None:
    if _UNUSABLE.search(value):
        raise InvalidPayload(f"{what} {shown(value)} holds a NUL or half a character, which no program can be given")


SPEC = TaskSpec(
    name=COMMAND,
    queue="default",
    function=command,
    schema=PayloadSchema(COMMAND, command, skip_first=False),
    wants_context=False,
    permanent=(),
    program=program_of,
)
