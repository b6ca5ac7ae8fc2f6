"""A job in a line: what it runs, and its state."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, Any

from holdfast.cli.frame import output, times
from holdfast.core.errors import NotFound
from holdfast.core.job import Queued, Running, Scheduled, StateName
from holdfast.core.jobs.requests import COMMAND
from holdfast.core.jobs.stored_job import Job

if TYPE_CHECKING:
    from holdfast.client.remote import Client
    from holdfast.core.messages.jobs import Retried

_UUID = re.compile(r"'?([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})'?")


def what(job: Job) -> str:
    """The name of the task; for a command, its words."""
    return what_runs(job.task, job.payload or "")


def what_runs(task: str, payload: str) -> str:
    """The same for what is not a job yet."""
    if task != COMMAND:
        return task
    import shlex

    import msgspec

    from holdfast.observe.redact import redacted

    try:
        return shlex.join(redacted(msgspec.json.decode(payload)["argv"]))
    except (msgspec.DecodeError, KeyError, TypeError):
        return task


def detail(job: Job) -> str:
    """What is worth showing about it in its state."""
    match job.state:
        case Scheduled(until=until, reason=reason):
            event = job.wait_for_event
            if until is not None and (event is None or reason or until > time.time() * 1000):
                said = times.ago(until)
            else:
                said = "waits for other jobs" if event is None else f"waits for event {event}"
            return f"{said}: {reason}" if reason else said
        case Queued():
            needs = (
                job.wait_for_idle and "an idle machine",
                job.require_charging and "mains power",
                job.tokens and str(job.tokens),
                job.node and f"machine {job.node}",
            )
            named = " and ".join(need for need in needs if need)
            return f"needs {named}" if named else ""
        case Running(since=since, cancel_requested_at=asked):
            said = f"for {times.length(time.time() * 1000 - since)}"
            if asked is not None:
                said += ", asked to stop"
            return f"{progress(job)} {said}".strip()
        case state:
            return getattr(state, "reason", None) or ""


def progress(job: Job) -> str:
    """How far a running job is, if that is known."""
    if job.progress is None:
        return ""
    return f"▕{output.bar(job.progress)}▏{job.progress:4.0%} {job.progress_text or ''}".rstrip()


def numbered(text: str, hf: Client | None = None) -> str:
    """The text with the numbers of jobs instead of their ids, as far as these are known or can be asked for."""
    if not _UUID.search(text):
        return text
    from holdfast.client.remote import NUMBERS

    def number(found: re.Match[str]) -> str:
        job_id = found[1]
        if job_id not in NUMBERS and hf is not None:
            try:
                hf.job(job_id)
            except NotFound:
                return found[0]
        return str(NUMBERS.get(job_id, found[0]))

    return _UUID.sub(number, text)


def triggered(trigger: str | None, hf: Client) -> str:
    """What triggered a job, a run or an event, in words."""
    from holdfast.core.jobs.trigger import words

    return numbered(words(trigger, times.local), hf)


def is_over(name: StateName) -> bool:
    """Whether the state is one that a job stays in."""
    from holdfast.core.job import TERMINAL

    return name in TERMINAL


def states_of(given: list[str] | None) -> list[str] | None:
    """States as a person writes them."""
    return [name.upper() for name in given] if given else None


def filters(state: list[str] | None = None, task: str | None = None, error: str | None = None) -> dict[str, Any]:
    """The given filters that are no options, as the SDK takes them."""
    given = {"state": states_of(state), "task": task, "error_text": error}
    return {name: value for name, value in given.items() if value is not None}


def retried_as(retries: list[Retried]) -> str:
    """The jobs that retries by hand have made of it."""
    return ", ".join(f"job {again.number} ({again.state})" for again in retries)
