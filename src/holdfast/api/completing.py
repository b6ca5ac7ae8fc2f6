"""The last look at a request before its script: JSON inside of JSON, and fields that do not go together.

What one field may be by itself stands in wire/rules.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from holdfast.core.errors import InvalidInput, InvalidPayload
from holdfast.core.limits import check_payload
from holdfast.core.requests import NewJob, Report
from holdfast.core.settle import Completed
from holdfast.store.scripts.enqueue import enqueue
from holdfast.store.scripts.exchange import exchange
from holdfast.store.scripts.finish import finish
from holdfast.store.scripts.progress import save_checkpoint
from holdfast.store.scripts.reorder import edit_payload
from holdfast.store.scripts.templates import enqueue_from_template, put_template
from holdfast.wire.extras import exchange_wait

_QUOTE = ord('"')


def complete(script: Callable[..., Any], wanted: Any) -> None:
    """Make what was read ready for its script, or refuse it."""
    step = _STEPS.get(script)
    if step is not None:
        step(wanted)


def payload_text(given: msgspec.Raw | str) -> str:
    """A payload as it is stored: the text of a JSON object, however it was given."""
    if isinstance(given, str):
        return given  # Nothing was given; this is the default.
    encoded = bytes(given)
    try:
        if encoded[0] == _QUOTE:
            encoded = msgspec.json.decode(encoded, type=str).encode()
        check_payload(encoded, "the payload")
        if not isinstance(msgspec.json.decode(encoded), dict):
            raise InvalidPayload("the payload is not a JSON object: give the task's arguments by name")
        return encoded.decode()
    except InvalidPayload:
        raise
    except (ValueError, RecursionError) as error:
        raise InvalidPayload(f"the payload is not JSON: {error}") from None


def check_json(what: str, text: str) -> None:
    """Refuse a text that is not JSON."""
    encoded = text.encode()
    check_payload(encoded, what)
    try:
        msgspec.json.decode(encoded)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"{what} is not JSON: {error}") from None


def _jobs(wanted: Any) -> None:
    jobs: Sequence[NewJob] = wanted.jobs
    for job in jobs:
        # Nobody else has seen it yet, and it is not worth a copy.
        msgspec.structs.force_setattr(job, "payload", payload_text(job.payload))
        _check_together(job)
        if job.trigger is not None:
            check_json("the trigger", job.trigger)


def _check_together(job: Any) -> None:
    if job.due is not None and job.delay_ms is not None:
        raise InvalidInput("a job has either due or delay_ms, not both")
    if job.generation is not None and job.subject is None:
        raise InvalidInput(f"generation {job.generation} has no subject; give the subject as well")


def _payload(wanted: Any) -> None:
    wanted.payload = payload_text(wanted.payload)


def _job_of_template(wanted: Any) -> None:
    _payload(wanted)
    if wanted.overrides.due is not None and wanted.overrides.delay_ms is not None:
        raise InvalidInput("a job has either due or delay_ms, not both")


def _template(wanted: Any) -> None:
    msgspec.structs.force_setattr(wanted.template, "payload", payload_text(wanted.template.payload))


def _reports(wanted: Any) -> None:
    reports: Sequence[Report] = wanted.reports
    for report in reports:
        if isinstance(report.outcome, Completed):
            check_json("the result", report.outcome.result)
        if report.artifacts is not None:
            check_json("the list of artifacts", report.artifacts)


def _checkpoint(wanted: Any) -> None:
    check_json("the checkpoint", wanted.data)


_STEPS: dict[Callable[..., Any], Callable[[Any], None]] = {
    enqueue: _jobs,
    edit_payload: _payload,
    put_template: _template,
    enqueue_from_template: _job_of_template,
    exchange: _reports,
    exchange_wait: _reports,
    finish: _reports,
    save_checkpoint: _checkpoint,
}
