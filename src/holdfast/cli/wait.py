"""`holdfast wait`: until jobs have ended."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, Any

from holdfast.cli.completion import jobs
from holdfast.cli.failing import FAILED, Ended, say
from holdfast.cli.jobs_shown import detail, numbered
from holdfast.cli.options import HomeOption, JsonOption, client
from holdfast.cli.output import put, show_json, state_text
from holdfast.cli.times import seconds, when
from holdfast.cli.words import Argument, Option
from holdfast.core.errors import StillRunning
from holdfast.core.job import Done, Job

if TYPE_CHECKING:
    from holdfast.client.handle import JobHandle
    from holdfast.client.remote import Client
    from holdfast.client.waiting import Countdown

# How long a job waits in silence, and how often to look again once something was said. The SDK, which warns of a
# missing worker alone, looks no sooner.
LOOK_S, SELDOM_S = 2.0, 30.0


def wait(
    jobs: Annotated[list[str], Argument("JOB...", help="Numbers or ids of jobs.", complete=jobs)],
    timeout: Annotated[str | None, Option(metavar="TIME", help="How long to wait at most: 90s, 2h.")] = None,
    home: HomeOption = None,
    json: JsonOption = False,
) -> None:
    """Wait until jobs have ended.

    The exit code is 0 if all are done, and 1 otherwise. What holds a job that does not start is said on stderr.

    \b
    Examples:
      holdfast wait 42 && echo done
      holdfast wait 42 43 44 --timeout 10m
    """
    from holdfast.client.waiting import Countdown

    hf = client(home)
    handles = [hf.job(job) for job in jobs]
    limit = seconds("timeout", timeout)
    left = Countdown(limit)
    ended = []
    for handle in handles:
        try:
            wait_for(handle, left, hf)
        except StillRunning as error:
            # What it raises knows only of the last look.
            raise StillRunning(f"job {handle.id} has not ended within {limit:g} s: {_why_not(error)}") from None
        ended.append(handle.job)
        if not json:
            _tell(ended[-1], is_alone=len(handles) == 1)
    if json:
        show_json(ended)
    if not all(isinstance(job.state, Done) for job in ended):
        raise Ended(FAILED)


def wait_for(handle: JobHandle[Any], left: Countdown | None = None, hf: Client | None = None) -> None:
    """Wait until a job has ended, and say on stderr what holds it if that takes a while; StillRunning in the end."""
    held = Held(handle, hf)
    while True:
        try:
            handle.wait(LOOK_S if left is None else min(LOOK_S, left.seconds()))
            return
        except StillRunning:
            if left is not None and left.seconds() == 0:
                raise
        held.look()


class Held:
    """Says on stderr which gates hold a job, each of them once, and the first when it has waited for a moment."""

    def __init__(self, handle: JobHandle[Any], hf: Client | None = None) -> None:
        self._handle = handle
        self._hf = hf
        self._told: set[str] = set()
        self._next_at = time.monotonic() + LOOK_S

    def look(self) -> None:
        """Look, if it is time for that."""
        now = time.monotonic()
        if now < self._next_at:
            return
        self._next_at = now + (SELDOM_S if self._told else LOOK_S)
        news = [gate for gate in self._handle.why().closed if gate.gate not in self._told]
        number = self._handle.number if news else None
        for gate in news:
            self._told.add(gate.gate)
            opens = f"; opens {when(gate.opens_at)}" if gate.opens_at is not None else ""
            said = numbered(f"{gate.reason} ({gate.now}{opens})", self._hf)
            say(f"holdfast: job {number} waits: {said}")
        if news:
            say(f"holdfast: more about that: holdfast why {number}")


def _why_not(error: StillRunning) -> str:
    return str(error).partition(": ")[2]


def _tell(job: Job, *, is_alone: bool) -> None:
    said = detail(job)
    number = "" if is_alone else f"{job.number} "
    put(number, state_text(job.state.name), f"  {said}" if said else "", flush=True)


def print_result(handle: JobHandle[Any], *, json: bool) -> None:
    """Wait for what a job returned and print it; ends the command if it has no result."""
    wait_for(handle)
    job = handle.job
    if json:
        show_json(job)
    elif isinstance(job.state, Done):
        import msgspec

        show_json(msgspec.json.decode(job.state.result_summary or "null"))
    else:
        said = detail(job)
        say(f"holdfast: job {job.number} is {job.state.name}{f': {said}' if said else ''}")
    if not isinstance(job.state, Done):
        raise Ended(FAILED)
