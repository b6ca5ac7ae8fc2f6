"""The options of jobs as people read them: of one job line by line, of templates, schedules and tasks in one line."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from holdfast.cli.frame import typed
from holdfast.core.declared.option import JobOption, Typed
from holdfast.core.declared.options import OPTIONS
from holdfast.core.jobs.requests import COMMAND
from holdfast.core.values.retry import RetryPolicy

if TYPE_CHECKING:
    from holdfast.core.jobs.stored_job import Job
    from holdfast.core.tasks.task import KeptOptions


def option_lines(job: Job) -> Iterator[tuple[str, str | None]]:
    """The options of a job, each with its label. Those with their defaults are left out."""
    for option in OPTIONS.values():
        value = getattr(job, option.wire, None)
        if option.name in _SPECIAL:
            yield option.label, _SPECIAL[option.name](job)
        elif value is not None and value != option.default:
            yield option.label, _text(option, value)


def options_text(options: KeptOptions, without: str | None = None) -> str:
    """The options that were given, in one line; `without` one of them."""
    words = []
    for option in OPTIONS.values():
        value = getattr(options, option.wire, None)
        if value is not None and option.name != without:
            is_plain = value is True and option.kind.typed is Typed.FLAG
            words.append(option.label if is_plain else f"{option.label} {_text(option, value)}")
    return ", ".join(words)


def _text(option: JobOption, value: Any) -> str:
    return str(value.retries) if isinstance(value, RetryPolicy) else typed.text_of(option.kind.typed, value)


def _retries(job: Job) -> str | None:
    used = min(job.tries.transient, job.policy.retries)  # The last failure counts as a try, too.
    return f"{job.policy.retries} at most, {used} used" if job.policy.retries else None


_SPECIAL: Mapping[str, Callable[[Job], str | None]] = {
    "queue": lambda job: job.queue,  # The usual one is shown, too.
    "generation": lambda job: None,  # It is shown with the subject.
    "subject": lambda job: job.subject and f"{job.subject}, generation {job.generation}",
    "node": lambda job: job.node and f"{job.node} alone",
    "retry": _retries,
    "execution": lambda job: None if job.task == COMMAND or job.execution == "in_process" else job.execution,
}
