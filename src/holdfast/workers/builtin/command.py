"""The task `command`: a program with its arguments, never a line for a shell."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holdfast.core.jobs.requests import COMMAND, Claimed
from holdfast.core.tasks.command import check_start
from holdfast.runtime.sessions.processes import GRACE_S
from holdfast.tasks.program import Program
from holdfast.tasks.schema import PayloadSchema
from holdfast.tasks.spec import TaskSpec
from holdfast.workers.process import environment


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
    check_start(arguments)
    return Program(
        argv=tuple(arguments["argv"]),
        env=environment.kept_variables(),
        # Before they were an option, variables were in the payload.
        own={**(arguments.get("env") or {}), **(claimed.env or {})},
        cwd=arguments.get("cwd"),
        grace_s=arguments.get("grace_s", GRACE_S),
        memory_mb=arguments.get("memory_mb"),
        cpu_s=arguments.get("cpu_s"),
    )


SPEC = TaskSpec(
    name=COMMAND,
    queue="default",
    function=command,
    schema=PayloadSchema(COMMAND, command, skip_first=False),
    wants_context=False,
    permanent=(),
    program=program_of,
)
