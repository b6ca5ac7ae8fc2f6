"""`holdfast logs`: what the runs of a job wrote."""

from __future__ import annotations

import codecs
import sys
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

from holdfast.cli.frame import jobs_shown, output
from holdfast.cli.frame.clients import client
from holdfast.cli.frame.failures import say
from holdfast.cli.frame.options import JobArgument
from holdfast.cli.frame.output import DIM, Coloured
from holdfast.cli.frame.words import Option
from holdfast.cli.jobs.wait import HeldNotice
from holdfast.core.errors import InvalidInput

if TYPE_CHECKING:
    from holdfast.client.resources.handle import JobHandle
    from holdfast.core.jobs.run import Run
    from holdfast.core.messages.runs import LogPart

PIECE = 1 << 20
SOON_S, LATE_S = 0.05, 0.5


def logs(
    job: JobArgument,
    follow: Annotated[
        bool, Option("--follow", "-f", help="Go on until the job has ended, over all of its runs.")
    ] = False,
    run: Annotated[
        int | None, Option(metavar="N", field="run_number", help="The N-th run; by default the last one.")
    ] = None,
    tail: Annotated[
        int | None, Option("--tail", "-n", metavar="N", field="lines", help="Only the last N lines.")
    ] = None,
    *,
    json: bool,
) -> None:
    """Print what a job wrote.

    That is the output of a command, or the log of a task.

    \b
    Examples:
      holdfast logs 42
      holdfast logs -f 42
      holdfast logs 42 --run 1 --tail 20
    """
    handle = client().job(job)
    pieces = _follow(handle, run, tail) if follow else _once(handle, run, tail)
    decoder = _decoder()
    for piece in pieces:
        _write_json(piece) if json else output.put_bytes(piece.data, decoder)


def stream(handle: JobHandle[Any]) -> None:
    """Print all that a job writes, until it has ended."""
    decoder = _decoder()
    for piece in _follow(handle, 1, None, is_first=True):
        output.put_bytes(piece.data, decoder)


def _decoder() -> codecs.IncrementalDecoder:
    """Decodes bytes to text. A letter may be split over two pieces."""
    return codecs.getincrementaldecoder("utf-8")("replace")


def _write_json(piece: LogPart) -> None:
    """Print one line for each piece. Bytes that are no text are replaced."""
    fields = {name: getattr(piece, name) for name in ("run_id", "attempt", "offset", "end", "eof")}
    text = piece.data.decode("utf-8", "replace")
    output.put_json({**fields, "text": text})


def _once(handle: JobHandle[Any], number: int | None, tail: int | None) -> Iterator[LogPart]:
    runs = handle.runs
    if not runs:
        say(f"job {handle.number} has not run yet; to wait for it: holdfast logs -f {handle.number}")
        return
    run = _chosen(handle, runs, number)
    at = 0
    while True:
        piece = handle._tail(tail, run.id) if tail is not None and not at else handle.read_log(at, PIECE, run.id)
        yield piece
        at = piece.offset + len(piece.data)
        if not piece.data or at >= piece.end:
            return


def _follow(
    handle: JobHandle[Any], number: int | None, tail: int | None, *, is_first: bool = False
) -> Iterator[LogPart]:
    """Print the log piece by piece. With `is_first`, or without a number, of all runs from that one on."""
    told = threading.Event()
    held = HeldNotice(handle)
    leave = handle._access.engine.listen(lambda changes: told.set())
    try:
        runs = handle.runs
        place = (len(runs) or 1) if number is None else number
        if number is not None and not is_first:
            _chosen(handle, runs, number)
        while True:
            told.clear()
            if len(runs) >= place:
                if place > 1 and sys.stderr.isatty():
                    say(Coloured(f"— run {place} of job {handle.number} —", DIM))
                yield from _grow(handle, runs[place - 1], tail, told)
                if number is not None and not is_first:
                    return
                place, tail = place + 1, None
            elif jobs_shown.is_over(handle.state):
                return
            else:
                told.wait(LATE_S)
                held.look()
            runs = handle.runs
    finally:
        leave()


def _grow(handle: JobHandle[Any], run: Run, tail: int | None, told: threading.Event) -> Iterator[LogPart]:
    piece = handle._tail(tail, run.id) if tail is not None else handle.read_log(0, PIECE, run.id)
    pause = SOON_S
    while True:
        if piece.data:
            yield piece
            pause = SOON_S
        if piece.eof:
            return
        if not piece.data:
            told.clear()
            told.wait(pause)
            pause = min(pause * 1.5, LATE_S)
        piece = handle.read_log(piece.offset + len(piece.data), PIECE, run.id)


def _chosen(handle: JobHandle[Any], runs: list[Run], number: int | None) -> Run:
    if number is not None and number > len(runs):
        raise InvalidInput(f"job {handle.number} has {len(runs)} runs; there is no run {number}")
    return runs[-1 if number is None else number - 1]
