"""`holdfast direct`: use the machine yourself, while no new job starts."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

from holdfast.cli.completion import queues
from holdfast.cli.failing import Ended, say
from holdfast.cli.options import HomeOption, JsonOption, client
from holdfast.cli.output import show_json
from holdfast.cli.progress import Progress
from holdfast.cli.times import seconds
from holdfast.cli.words import Argument, Option
from holdfast.core.errors import HoldfastError

if TYPE_CHECKING:
    from holdfast.client.remote import Client

NOT_EXECUTABLE, NOT_FOUND = 126, 127


def direct(
    command: Annotated[list[str], Argument("-- COMMAND [ARG]...", help="What to run meanwhile.", is_rest=True)],
    queue: Annotated[
        str | None,
        Option(
            "--queue",
            "-q",
            metavar="QUEUE",
            help="Keep this queue still; by default everything.",
            complete=queues,
        ),
    ] = None,
    wait: Annotated[
        str | None,
        Option(metavar="TIME", help="How long to wait for what runs; by default any time, 0 for not at all."),
    ] = None,
    ttl: Annotated[str, Option(metavar="TIME", help="Give it back after this, even if it is not done.")] = "1d",
    home: HomeOption = None,
    json: JsonOption = False,
) -> None:
    """Run a command here while no job starts.

    It begins when nothing runs any more, and ends with the exit code of the command. The order of the queues stays.

    \b
    Examples:
      holdfast direct -- nvidia-smi
      holdfast direct --queue gpu --wait 10m -- python train.py
    """
    hf = client(home)
    scope = queue or "*"
    who = f"holdfast direct -- {command[0]}"[:200]
    patience = seconds("wait", wait)
    reserving = hf.reserve(scope, wait=patience, ttl=seconds("ttl", ttl) or 0, reserved_by=who)
    with Progress(_waiting(hf, scope), is_said=patience != 0):
        held = reserving.__enter__()
    try:
        code = _run(command)
    finally:
        try:
            reserving.__exit__(None, None, None)
        except HoldfastError as error:
            # The command has ended all the same, and its exit code is what counts.
            say(f"holdfast: the reservation could not be given back, it ends with this process: {error}")
    if json:
        show_json({"reservation": held.row, "exit_code": code})
    raise Ended(code)


def _waiting(hf: Client, scope: str) -> str:
    """What has to happen first."""
    from holdfast.store.scripts.scopes import named, overlap

    first = next((held for held in hf.reservations() if overlap(held.scope, scope)), None)
    if first is not None:
        return f"waiting until {first.reserved_by} gives {named(first.scope)} back"
    return "waiting until nothing runs" + ("" if scope == "*" else f" in {named(scope)}")


def _run(command: list[str]) -> int:
    """Run it with this terminal. Ctrl-C is meant for the command; the reservation is given back when it has ended."""
    sys.stdout.flush()
    child: subprocess.Popen[bytes] | None = None

    def pass_on(number: int, frame: object) -> None:
        if child is not None and number != signal.SIGINT:
            child.send_signal(number)

    with _heeding(pass_on):
        try:
            child = subprocess.Popen(command)
        except FileNotFoundError:
            say(f"holdfast: {command[0]}: there is no such command")
            return NOT_FOUND
        except OSError as error:
            say(f"holdfast: {command[0]}: {error.strerror}")
            return NOT_EXECUTABLE
        code = child.wait()
    return 128 - code if code < 0 else code


@contextmanager
def _heeding(handler: object) -> Iterator[None]:
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.signal(number, handler) for number in numbers}  # type: ignore[arg-type]
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)
