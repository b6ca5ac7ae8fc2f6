"""`holdfast direct`: use the machine yourself, while no new job starts."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Annotated

from holdfast.cli.frame import completion, times
from holdfast.cli.frame.clients import client
from holdfast.cli.frame.failures import say
from holdfast.cli.frame.guard import GRACE_S, TIME_OVER
from holdfast.cli.frame.output import Output
from holdfast.cli.frame.progress import ProgressBar
from holdfast.cli.frame.words import Argument, Option
from holdfast.core.errors import HoldfastError

if TYPE_CHECKING:
    from holdfast.client.remote import Client
    from holdfast.client.resources.reserving import Held

LOOK_S = 1.0
MARGIN_S = 1.0


def direct(
    command: Annotated[list[str], Argument("-- COMMAND [ARG]...", help="What to run meanwhile.", is_rest=True)],
    queue: Annotated[
        str | None,
        Option(
            "--queue",
            "-q",
            metavar="QUEUE",
            help="Keep this queue still; by default everything.",
            complete=completion.queues,
        ),
    ] = None,
    wait: Annotated[
        str | None,
        Option(metavar="TIME", help="How long to wait for what runs; by default any time, 0 for not at all."),
    ] = None,
    ttl: Annotated[str, Option(metavar="TIME", help="End the command and give it back after this.")] = "1d",
) -> Output:
    """Run a command here while no job starts.

    It begins when nothing runs any more, and ends with the exit code of the command. The order of the queues stays.
    The command never outlives the reservation: when that is over, or this program is killed, it is ended.

    \b
    Examples:
      holdfast direct -- nvidia-smi
      holdfast direct --queue gpu --wait 10m -- python train.py
    """
    hf = client()
    scope = queue or "*"
    who = f"holdfast direct -- {command[0]}"[:200]
    patience = times.seconds("wait", wait)
    limit = times.seconds("ttl", ttl, "NewReservation.ttl_ms") or 0.0
    # The reservation is still held while the command ends.
    reserving = hf.reserve(scope, wait=patience, ttl=limit and limit + GRACE_S + MARGIN_S, reserved_by=who)
    with ProgressBar(_waiting(hf, scope), is_said=patience != 0):
        held = reserving.__enter__()
    try:
        code = _run(command, held, limit)
    finally:
        try:
            reserving.__exit__(None, None, None)
        except HoldfastError as error:
            # The command has ended all the same, and its exit code counts.
            say(f"holdfast: the reservation could not be given back, it ends with this process: {error}")
    return Output({"reservation": held.row, "exit_code": code}, code=code)


def _waiting(hf: Client, scope: str) -> str:
    """What the reservation waits for, in words."""
    from holdfast.core.messages.reservations import named, overlap

    first = next((held for held in hf.reservations() if overlap(held.scope, scope)), None)
    if first is not None:
        return f"waiting until {first.reserved_by} gives {named(first.scope)} back"
    return "waiting until nothing runs" + ("" if scope == "*" else f" in {named(scope)}")


def _run(command: list[str], held: Held, limit: float) -> int:
    """Run it in this terminal. Ctrl-C is for the command. The reservation is released when the command has ended."""
    sys.stdout.flush()
    theirs, ours = os.pipe()
    with os.fdopen(ours, "wb", buffering=0) as life:

        def tell(number: int) -> None:
            with suppress(BrokenPipeError):  # It has just ended.
                life.write(bytes([number]))

        def pass_on(number: int, frame: object) -> None:
            if number != signal.SIGINT:
                tell(number)

        with _heeding(pass_on):
            guard = [sys.executable, "-P", "-m", "holdfast.cli.frame.guard", str(theirs), *command]
            child = subprocess.Popen(guard, pass_fds=(theirs,))
            os.close(theirs)
            until = time.monotonic() + limit
            while not _has_ended(child, min(LOOK_S, max(0.0, until - time.monotonic()))):
                if until < math.inf and (time.monotonic() >= until or not held.is_held):
                    say(f"holdfast: the time of the reservation is over; {command[0]} is ended")
                    tell(TIME_OVER)
                    until = math.inf
    return 128 - child.returncode if child.returncode < 0 else child.returncode


def _has_ended(child: subprocess.Popen[bytes], timeout: float) -> bool:
    try:
        child.wait(timeout)
    except subprocess.TimeoutExpired:
        return False
    return True


@contextmanager
def _heeding(handler: object) -> Iterator[None]:
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.signal(number, handler) for number in numbers}  # type: ignore[arg-type]
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)
