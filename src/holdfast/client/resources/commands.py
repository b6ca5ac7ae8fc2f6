"""Commands as jobs: a program with its arguments, run in a process of its own."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Unpack

from holdfast.client.options import given
from holdfast.client.resources.calls import Call
from holdfast.client.resources.handle import JobHandle
from holdfast.client.resources.task import Enqueuing
from holdfast.client.store_access import StoreAccess
from holdfast.core.declared.options import JobOptions
from holdfast.core.jobs.requests import OF_COMMANDS
from holdfast.core.rules.units import Duration
from holdfast.core.settings import rule_table
from holdfast.core.tasks.command import check_command
from holdfast.workers.builtin.command import SPEC


class Commands:
    """The part of `Holdfast` that queues commands."""

    _access: StoreAccess

    def command(
        self,
        *argv: str | Path,
        cwd: str | Path | None = None,
        grace: Duration | None = None,
        memory_mb: int | None = None,
        cpu: int | None = None,
        **options: Unpack[JobOptions],
    ) -> JobHandle[dict[str, int]]:
        """Queue a command: `hf.command("make", "world", cwd="src", retry=3)`. Its result is `{"exit_code": 0}`.

        There is no shell: each argument is given to the program as it is. It sees PATH, HOME, USER, LANG and TERM of
        the worker, `env`, and who it is (HOLDFAST_RUN_ID and so on). `cwd` is the folder it starts in, by default that
        of the worker. Asked to stop, it has `grace` seconds after SIGTERM. `memory_mb` bounds the address space of each
        process and `cpu` the seconds of CPU time. The other options are those of `Task.options`.
        """
        arguments = command_arguments(argv, cwd, grace, memory_mb, cpu)
        return self._commands(options).enqueue(**arguments)

    async def acommand(
        self,
        *argv: str | Path,
        cwd: str | Path | None = None,
        grace: Duration | None = None,
        memory_mb: int | None = None,
        cpu: int | None = None,
        **options: Unpack[JobOptions],
    ) -> JobHandle[dict[str, int]]:
        """The awaitable twin of `command`."""
        arguments = command_arguments(argv, cwd, grace, memory_mb, cpu)
        return await self._commands(options).aenqueue(**arguments)

    def command_call(
        self,
        *argv: str | Path,
        cwd: str | Path | None = None,
        grace: Duration | None = None,
        memory_mb: int | None = None,
        cpu: int | None = None,
        **options: Unpack[JobOptions],
    ) -> Call[dict[str, int]]:
        """A command for `hf.group` and `hf.chain`, with the arguments of `command`. Nothing is stored yet."""
        arguments = command_arguments(argv, cwd, grace, memory_mb, cpu)
        return self._commands(options).call(**arguments)

    def _commands(self, options: Mapping[str, Any]) -> Enqueuing[..., dict[str, int]]:
        return Enqueuing(self._access, SPEC, {**OF_COMMANDS, **given(options)})


def command_arguments(
    argv: tuple[str | Path, ...],
    cwd: str | Path | None,
    grace: Duration | None,
    memory_mb: int | None,
    cpu: int | None,
) -> dict[str, Any]:
    """The payload of a command, checked."""
    arguments: dict[str, Any] = {"argv": [os.fspath(word) if isinstance(word, os.PathLike) else word for word in argv]}
    if cwd is not None:
        # The worker may have another current folder.
        arguments["cwd"] = os.path.abspath(cwd) if isinstance(cwd, str | os.PathLike) else cwd
    if grace is not None:
        arguments["grace_s"] = rule_table.millis("grace_ms", grace) / 1000
    if memory_mb is not None:
        arguments["memory_mb"] = rule_table.check("memory_mb", memory_mb)
    if cpu is not None:
        arguments["cpu_s"] = rule_table.check("cpu_s", cpu, "cpu")
    check_command(arguments)
    return arguments
