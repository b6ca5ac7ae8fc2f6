"""`holdfast why`: what holds a job back, gate by gate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from holdfast.cli.frame import jobs_shown, output, times
from holdfast.cli.frame.clients import client
from holdfast.cli.frame.options import JobArgument
from holdfast.cli.frame.output import DIM, Coloured, Output
from holdfast.core.gates.gates import Closed, Open
from holdfast.core.job import Queued, Running, Scheduled
from holdfast.core.jobs.stored_job import Job

if TYPE_CHECKING:
    from holdfast.client.remote import Client
    from holdfast.client.resources.handle import JobHandle
    from holdfast.core.jobs.run import Run
    from holdfast.core.messages.why import Why

WIDE = 19


def why(job: JobArgument) -> Output:
    """Say why a job does not run yet.

    Every gate, what it sees, and what would open it. For a job that runs, where; for one that has ended, how.

    \b
    Examples:
      holdfast why 42
    """
    hf = client()
    handle = hf.job(job)
    said = handle.why()
    return Output(said, lambda: _show(hf, handle, said))


def _show(hf: Client, handle: JobHandle[Any], said: Why) -> None:
    found = handle.job
    output.put(f"job {found.number} ({jobs_shown.what(found)}) is ", output.state_text(found.state.name), _since(found))
    match found.state:
        case Running():
            _tell_where(hf, found, handle.runs)
        case Queued() | Scheduled():
            _tell_gates(hf, found, said)
        case _:
            _tell_end(hf, found, handle.runs)
    old, again = found.retried_from or found.retry_of, jobs_shown.retried_as(handle.retries())
    if old:
        output.put(f"it is a retry of job {jobs_shown.numbered(old, hf)}")
    if again:
        output.put(f"it was retried as {again}")


def _since(job: Job) -> str:
    since = getattr(job.state, "since", None) or getattr(job.state, "at", None)
    return f" since {times.when(since)}" if since is not None else ""


def _tell_gates(hf: Client, job: Job, said: Why) -> None:
    closed = said.closed
    if closed:
        count = "one gate holds it" if len(closed) == 1 else f"{len(closed)} gates hold it"
        output.put(f"{count}:")
    else:
        output.put("nothing holds it: it is about to run")
    output.put()
    for gate in said.gates:
        match gate:
            case Closed():
                output.put(output.mark(False), f" {gate.gate:{WIDE}} {jobs_shown.numbered(gate.reason, hf)}")
                for name, text in (("now", gate.now), ("opens with", gate.needs), ("at", times.when(gate.opens_at))):
                    if text:
                        output.put(f"  {'':{WIDE}} ", Coloured(f"{name}:", DIM), f" {jobs_shown.numbered(text, hf)}")
            case Open():
                output.put(output.mark(True), f" {gate.gate:{WIDE}} ", Coloured(jobs_shown.numbered(gate.now, hf), DIM))
    hints = list(dict.fromkeys(hint for gate in closed if (hint := _hint(job, gate.gate))))
    if hints:
        output.put()
        for hint in hints:
            output.put(hint)


def _hint(job: Job, gate: str) -> str | None:
    """A command that would open a gate."""
    match gate:
        case "queue paused":
            return f"to go on: holdfast resume {job.queue}"
        case "queue concurrency":
            return f"to let more run: holdfast queue {job.queue} --limit N"
        case "rate limit":
            return f"to let more start: holdfast queue {job.queue} --rate N/TIME"
        case "tenant's turn":
            return f"to have it go before others of its tenant: holdfast move {job.number} top"
        case "machine pressure" | "idle" | "charging":
            return "what the machine is like: holdfast status"
        case "worker":
            return "to run it: holdfast worker --app FILE, with code that has this task for this queue"
        case "reservation":
            return "who holds it: holdfast status"
    return None


def _tell_where(hf: Client, job: Job, runs: Sequence[Run]) -> None:
    assert isinstance(job.state, Running)
    state = job.state
    session = next((row for row in hf.sessions() if row.id == state.session_id), None)
    run = next((run for run in runs if run.id == state.run_id), None)
    where = "a worker that has just gone" if session is None else f"{session.kind} {session.pid} on {session.node}"
    own = f", process {run.pid}" if run is not None and run.pid else ""
    output.put(f"it is run {len(runs)}, in {where}{own}")
    if job.progress is not None:
        output.put(f"progress {jobs_shown.progress(job)}")
    if state.cancel_requested_at is not None:
        output.put(f"it was asked to stop {times.ago(state.cancel_requested_at)}")


def _tell_end(hf: Client, job: Job, runs: Sequence[Run]) -> None:
    count = {0: "it never ran", 1: "it ran once"}.get(len(runs), f"it ran {len(runs)} times")
    said = jobs_shown.numbered(jobs_shown.detail(job), hf)
    output.put(f"{count}{f'; {said}' if said else ''}")
    if job.state.name == "FAILED":
        output.put(f"its output: holdfast logs {job.number}   again: holdfast retry {job.number}")
