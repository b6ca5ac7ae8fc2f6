"""What can be done with a workspace on its own machine: read its log, and run something in its home."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.cli.frame import output
from holdfast.core.errors import Conflict, HoldfastError, InvalidInput
from holdfast.wire.home import HOME, find_home

if TYPE_CHECKING:
    from holdfast.core.messages.workspaces import WorkspaceView

LOOK_S = 0.2
TOUCH_S = 30.0
TAIL_BYTES = 1 << 20
PIECE = 1 << 16


def run(view: WorkspaceView, command: list[str], touch: Callable[[], object]) -> int:
    """Run a command, or a shell, in the home of a workspace. Return its exit code. `touch` says that it is used."""
    from holdfast.workspaces.environment import variables_of

    if view.home is None or not os.path.isdir(view.home):
        remedy = {"ARCHIVED": "bring it back: holdfast workspace start", "ERROR": "see: holdfast workspace show"}
        hint = remedy.get(view.phase, "wait until it is STANDBY: holdfast workspace show")
        raise Conflict(f"workspace {view.name!r} has no home here, it is {view.phase}; {hint} {view.name}")
    words = command or [os.environ.get("SHELL") or "/bin/sh"]
    environment = variables_of(view.name, view.home, view.env, view.port, {HOME: str(find_home().folder)})
    try:
        process = subprocess.Popen(words, cwd=view.home, env=environment)
    except FileNotFoundError:
        raise InvalidInput(f"there is no command {words[0]!r} to run in workspace {view.name!r}") from None
    except OSError as error:
        raise InvalidInput(f"command {words[0]!r} cannot be started: {error.strerror}") from error
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the command, which has it too.
    ended = threading.Event()
    threading.Thread(target=_touch, args=(touch, ended), daemon=True).start()
    try:
        code = process.wait()
    finally:
        ended.set()
        signal.signal(signal.SIGINT, before)
    return code if code >= 0 else 128 - code


def _touch(touch: Callable[[], object], ended: threading.Event) -> None:
    while True:
        with suppress(HoldfastError):  # A daemon that is away does not end the shell.
            touch()
        if ended.wait(TOUCH_S):
            return


def print_log(view: WorkspaceView, lines: int, *, follow: bool) -> None:
    """Print the last lines of the log of a workspace, and what comes after them."""
    path = find_home().instance_log(view.id)
    end = _print_last(path, lines) if lines else _print_from(path, 0)
    with suppress(KeyboardInterrupt):
        while follow:
            time.sleep(LOOK_S)
            end = _print_from(path, end)


def last_lines(workspace_id: str, lines: int) -> str:
    """The last lines of the log of a workspace. Nothing if it is not on this machine."""
    try:
        text, _ = _tail(find_home().instance_log(workspace_id))
    except OSError:
        return ""
    return "\n".join(text.splitlines()[-lines:])


def _print_last(path: Path, lines: int) -> int:
    try:
        text, end = _tail(path)
    except FileNotFoundError:
        return 0
    output.put_lines("\n".join(text.splitlines()[-lines:]))
    return end


def _tail(path: Path) -> tuple[str, int]:
    """The last part of a file as text, and where it ends."""
    with path.open("rb") as file:
        end = file.seek(0, os.SEEK_END)
        file.seek(max(0, end - TAIL_BYTES))
        read = file.read(TAIL_BYTES)
    return read.decode("utf-8", "replace"), end


def _print_from(path: Path, start: int) -> int:
    """Print what is behind this place. A file that has been cut meanwhile is printed from its beginning."""
    try:
        with path.open("rb") as file:
            if file.seek(0, os.SEEK_END) < start:
                start = 0
            file.seek(start)
            while piece := file.read(PIECE):
                output.put_lines(piece.decode("utf-8", "replace"))
                start += len(piece)
    except FileNotFoundError:
        return 0
    return start
