"""Instances that are processes of this machine. They outlive the worker that started them, and every daemon.

A process waits at its gate until its row names it, so there is never one that nobody knows. Its pid, the time when it
began and the boot of its machine name it for good.
"""

from __future__ import annotations

import asyncio
import os
import select
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from io import FileIO
from pathlib import Path

from holdfast.core.job import RunId
from holdfast.core.messages.workspaces import InstanceContext
from holdfast.core.values.retry import FailureKind
from holdfast.private_files import for_owner_alone, make_private_folder
from holdfast.runtime.node import boot_id
from holdfast.runtime.sessions import processes
from holdfast.runtime.sessions.processes import GRACE_S, RUN_VARIABLE, ProcessGroup
from holdfast.tasks.program import Program
from holdfast.workers.process import launching
from holdfast.workers.process.launching import Gated
from holdfast.workspaces.backends.protocols import BackendFailed, CommandRefused, StartOrder
from holdfast.workspaces.environment import variables_of

HOST = "127.0.0.1"
PORT_WORD = "{port}"
CONNECTIONS, CONNECTIONS_6 = "/proc/net/tcp", "/proc/net/tcp6"
LISTENS = "0A"
# One that has no port runs when it has lived so long.
SETTLE_S = 0.2
LOOK_S = 0.02
ANSWER_S = 1.0
SAID = 1 << 12
MOST_LOG = 64 << 20
LAST_LINE = 200


class LocalProcesses:
    """The programs of workspaces as processes. `log_of` is the file for what one prints.

    `daemon` are the variables by which programs find the daemon.
    """

    def __init__(self, log_of: Callable[[str], Path], daemon: Mapping[str, str], grace_s: float = GRACE_S) -> None:
        self._log_of = log_of
        self._daemon = daemon
        self._grace_s = grace_s
        self._children: list[tuple[str, Gated]] = []
        self._reaping = threading.Lock()
        self._handles: dict[RunId, int] = {}

    def observe(self, known: Mapping[str, InstanceContext]) -> dict[str, bool]:
        """Whether these processes live. Those of another boot do not."""
        self._reap()
        here = {key: _group(one) for key, one in known.items() if not self.began_in_another_boot(one)}
        occupied = {group.run_id for group, _ in processes.occupied(list(here.values()))}
        return {key: key in here and here[key].run_id in occupied for key in known}

    def used(self, ports: Mapping[str, int]) -> set[str]:
        """Those with connections, as the kernel lists them. It keeps one that has ended for about a minute.

        OSError where it lists none.
        """
        connected = set(_connected_ports(Path(CONNECTIONS).read_text("ascii", "replace")))
        with suppress(FileNotFoundError):  # A kernel without IPv6.
            connected.update(_connected_ports(Path(CONNECTIONS_6).read_text("ascii", "replace")))
        return {key for key, port in ports.items() if port in connected}

    def watch(self, known: Mapping[str, InstanceContext], wake: Callable[[], None]) -> None:
        """Call `wake` when the first process of one of these ends. Systems without handles of processes do not tell."""
        if hasattr(os, "pidfd_open"):
            wanted = {one.run_id: one for one in known.values() if not self.began_in_another_boot(one)}
            for run_id in self._handles.keys() - wanted.keys():
                self._unwatch(run_id)
            for run_id in wanted.keys() - self._handles.keys():
                self._watch(wanted[run_id], wake)

    def began_in_another_boot(self, instance: InstanceContext) -> bool:
        """Whether the machine was started anew since."""
        return instance.boot_id != boot_id()

    def start(
        self,
        order: StartOrder,
        note: Callable[[InstanceContext, int | None], None],
        check: Callable[[], None],
    ) -> None:
        """Start a process, and return when its port answers, or when it has lived for a moment."""
        port = _free_port() if any(PORT_WORD in word for word in order.command) else None
        program = self._program(order, port)
        with self._open_log(order.workspace_id) as log:
            gated = Gated(order.run_id, output=log.fileno())
            group = gated.group
            try:
                note(InstanceContext(group.pid, group.started_at, boot_id(), order.run_id), port)
                gated.open(program)
                self._await_begin(gated, program, check)
                self._await_answer(gated, port, order.workspace_id, check)
            except BaseException as error:
                processes.empty_groups([group], grace=0)
                gated.close()
                if isinstance(error, BackendFailed | CommandRefused):
                    log.write(f"holdfast: {error}\n".encode())
                raise
        gated.output.close()
        gated.failure.close()
        self._children.append((order.workspace_id, gated))

    def stop(self, instance: InstanceContext, check: Callable[[], None]) -> None:
        """End a process with all that it has started: SIGTERM, a grace, SIGKILL."""
        if self.began_in_another_boot(instance):
            return
        left = processes.empty_groups([_group(instance)], self._grace_s)
        self._reap()
        if left:
            raise BackendFailed(f"process {instance.pid} cannot be ended")

    def forget(self, workspace_id: str) -> None:
        """Remove the log."""
        self._log_of(workspace_id).unlink(missing_ok=True)

    def trim_logs(self, workspace_ids: list[str], most: int = MOST_LOG) -> None:
        """Keep the newer half of the logs that have become too long."""
        for workspace_id in workspace_ids:
            path = self._log_of(workspace_id)
            try:
                if path.stat().st_size > most:
                    _keep_newer(path, most // 2)
            except FileNotFoundError:
                continue

    def _program(self, order: StartOrder, port: int | None) -> Program:
        argv = tuple(word.replace(PORT_WORD, str(port)) for word in order.command)
        env = variables_of(order.name, order.home, order.env, port, self._daemon)
        # Its processes carry it, so that they are found when the first one has ended.
        return Program(argv=argv, env=env | {RUN_VARIABLE: order.run_id}, cwd=order.home)

    def _await_begin(self, gated: Gated, program: Program, check: Callable[[], None]) -> None:
        """Wait until the program has begun, or said why it could not."""
        said = b""
        waiting = select.poll()
        waiting.register(gated.failure, select.POLLIN)
        while True:
            check()
            if not waiting.poll(ANSWER_S * 1000):
                continue
            piece = os.read(gated.failure.fileno(), SAID)
            if not piece:
                break
            said += piece
        if said:
            failure = launching.why_not_started(said, program)
            is_refused = failure.kind is FailureKind.PERMANENT and failure.code != launching.NO_FOLDER
            raise (CommandRefused if is_refused else BackendFailed)(failure.message)

    def _await_answer(self, gated: Gated, port: int | None, workspace_id: str, check: Callable[[], None]) -> None:
        until = time.monotonic() + SETTLE_S
        while True:
            check()
            if gated.status is not None and not processes.living(gated.group):
                raise BackendFailed(self._ended(gated.status, port, workspace_id))
            if port is None and time.monotonic() >= until:
                return
            if port is not None and _answers(port):
                return
            time.sleep(LOOK_S)

    def _ended(self, status: int, port: int | None, workspace_id: str) -> str:
        last = self._log_of(workspace_id).read_bytes()[-SAID:].decode("utf-8", "replace").splitlines()
        said = f"; its last line: {last[-1][:LAST_LINE]}" if last else ""
        return f"the program has ended {_how(status)} {'before its port answered' if port else 'at once'}{said}"

    def _open_log(self, workspace_id: str) -> FileIO:
        path = self._log_of(workspace_id)
        make_private_folder(path.parent)
        return open(path, "ab", buffering=0, opener=for_owner_alone)  # the caller closes it

    def _watch(self, instance: InstanceContext, wake: Callable[[], None]) -> None:
        try:
            handle = os.pidfd_open(instance.pid)
        except OSError:
            return
        seen = processes.look_at(instance.pid)
        if seen is None or not seen.is_alive or seen.started_at != instance.started_at:
            os.close(handle)
            return

        def tell() -> None:
            self._unwatch(instance.run_id)
            wake()

        self._handles[instance.run_id] = handle
        asyncio.get_running_loop().add_reader(handle, tell)

    def _unwatch(self, run_id: RunId) -> None:
        handle = self._handles.pop(run_id)
        asyncio.get_running_loop().remove_reader(handle)
        os.close(handle)

    def _say(self, workspace_id: str, text: str) -> None:
        """Add a line of our own to a log, if there is one."""
        path = self._log_of(workspace_id)
        if path.exists():
            with path.open("ab") as log:
                log.write(f"holdfast: {text}\n".encode())

    def _reap(self) -> None:
        """Let go of those that have ended, as their parent must."""
        with self._reaping:
            ended = [(key, child) for key, child in self._children if child.status is not None]
            for key, child in ended:
                self._children.remove((key, child))
                with suppress(OSError):
                    self._say(key, f"the program has ended {_how(child.status or 0)}")
                child.close()


def _how(status: int) -> str:
    return f"by signal {-status}" if status < 0 else f"with code {status}"


def _group(instance: InstanceContext) -> ProcessGroup:
    return ProcessGroup(instance.pid, instance.started_at, instance.run_id)


def _free_port() -> int:
    with socket.socket() as listening:
        listening.bind((HOST, 0))
        port: int = listening.getsockname()[1]
        return port


def _answers(port: int) -> bool:
    try:
        with socket.create_connection((HOST, port), timeout=ANSWER_S):
            return True
    except OSError:
        return False


def _connected_ports(table: str) -> Iterator[int]:
    """Both ports of each connection of proc(5), but for those that only listen."""
    for line in table.splitlines()[1:]:
        fields = line.split()
        if len(fields) > 3 and fields[3] != LISTENS:
            for end in fields[1:3]:
                yield int(end.rpartition(":")[2], 16)


def _keep_newer(path: Path, bytes_kept: int) -> None:
    """Cut the older part. The program goes on at the end of the file, as it has it open for appending.

    What it prints meanwhile is read too. A kill before the cut leaves some of it twice, and loses nothing.
    """
    with path.open("r+b", buffering=0) as file:
        file.seek(-bytes_kept, os.SEEK_END)
        newer = file.read()
        newer = newer[newer.find(b"\n") + 1 :]
        at = 0
        while newer:
            at += os.pwrite(file.fileno(), newer, at)
            newer = file.read()
        file.truncate(at)
