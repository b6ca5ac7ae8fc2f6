"""`holdfast wait`: until jobs have ended."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, Any

from holdfast.cli.frame import completion, jobs_shown, output, times
from holdfast.cli.frame.clients import client
from holdfast.cli.frame.failures import FAILED, say
from holdfast.cli.frame.options import PatienceOption
from holdfast.cli.frame.output import Output
from holdfast.cli.frame.words import Argument
from holdfast.core.errors import StillRunning
from holdfast.core.job import Done
from holdfast.core.jobs.stored_job import Job

if TYPE_CHECKING:
    from holdfast.client.remote import Client
    from holdfast.client.resources.handle import JobHandle
    from holdfast.client.waiting import Countdown

# How long a job waits before something is printed, and how often to look after that. The SDK, which only warns of a
# missing worker, looks no sooner.
LOOK_S, SELDOM_S = 2.0, 30.0


def wait(
    jobs: Annotated[list[str], Argument("JOB...", help="Numbers or ids of jobs.", complete=completion.jobs)],
    timeout: PatienceOption = None,
    *,
    json: bool,
) -> Output:
    """Wait until jobs have ended.

    The exit code is 0 if all are done, and 1 otherwise. What holds a job that does not start is said on stderr.

    \b
    Examples:
      holdfast wait 42 && echo done
      holdfast wait 42 43 44 --timeout 10m
    """
    from holdfast.client.waiting import Countdown

    hf = client()
    handles = [hf.job(job) for job in jobs]
    limit = times.seconds("timeout", timeout)
    left = Countdown(limit)
    ended = []
    for handle in handles:
        try:
            wait_for(handle, left, hf)
        except StillRunning as error:
            # The error of the SDK only knows the last wait.
            raise StillRunning(f"job {handle.id} has not ended within {limit:g} s: {_why_not(error)}") from None
        ended.append(handle.job)
        if not json:
            _tell(ended[-1], is_alone=len(handles) == 1)
    return Output(ended, code=0 if all(isinstance(job.state, Done) for job in ended) else FAILED)


def wait_for(handle: JobHandle[Any], left: Countdown | None = None, hf: Client | None = None) -> None:
    """Wait until a job has ended. After a while, print on stderr what holds it. StillRunning after the limit."""
    held = HeldNotice(handle, hf)
    while True:
        try:
            handle.wait(LOOK_S if left is None else min(LOOK_S, left.seconds()))
            return
        except StillRunning:
            if left is not None and left.seconds() == 0:
                raise
        held.look()


class HeldNotice:
    """Prints on stderr which gates hold a job. Each is printed once, and the first after a moment."""

    def __init__(self, handle: JobHandle[Any], hf: Client | None = None) -> None:
        self._handle = handle
        self._hf = hf
        self._told: set[str] = set()
        self._next_at = time.monotonic() + LOOK_S

    def look(self) -> None:
        """Look, if it is time."""
        now = time.monotonic()
        if now < self._next_at:
            return
        self._next_at = now + (SELDOM_S if self._told else LOOK_S)
        news = [gate for gate in self._handle.why().closed if gate.gate not in self._told]
        number = self._handle.number if news else None
        for gate in news:
            self._told.add(gate.gate)
            opens = f"; opens {times.when(gate.opens_at)}" if gate.opens_at is not None else ""
            said = jobs_shown.numbered(f"{gate.reason} ({gate.now}{opens})", self._hf)
            say(f"holdfast: job {number} waits: {said}")
        if news:
            say(f"holdfast: more about that: holdfast why {number}")


def _why_not(error: StillRunning) -> str:
    return str(error).partition(": ")[2]


def _tell(job: Job, *, is_alone: bool) -> None:
    said = jobs_shown.detail(job)
    number = "" if is_alone else f"{job.number} "
    output.put(number, output.state_text(job.state.name), f"  {said}" if said else "", flush=True)


def result_of(handle: JobHandle[Any]) -> Output:
    """Wait for the result of a job. The command fails if there is none."""
    import msgspec

    wait_for(handle)
    job = handle.job
    if not isinstance(job.state, Done):
        return Output(job, lambda: say_state(job), code=FAILED)
    result = job.state.result_summary or "null"
    return Output(job, lambda: output.show_json(msgspec.json.decode(result)))


def say_state(job: Job) -> None:
    """Print on stderr how a job ended, unless it is done."""
    said = jobs_shown.detail(job)
    say(f"holdfast: job {job.number} is {job.state.name}{f': {said}' if said else ''}")
