"""The last look at a request before its script: JSON inside of JSON, and fields that do not go together.

What one field may be by itself stands in wire/rules.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from holdfast.core.errors import InvalidInput, InvalidPayload
from holdfast.core.event import check_pattern
from holdfast.core.limits import check_payload
from holdfast.core.requests import NewJob, Report
from holdfast.core.settle import Completed
from holdfast.store.scripts.declaring import declare_schedules, schedule_task
from holdfast.store.scripts.enqueue import enqueue
from holdfast.store.scripts.exchange import exchange
from holdfast.store.scripts.finish import finish
from holdfast.store.scripts.group_jobs import enqueue_group
from holdfast.store.scripts.progress import save_checkpoint
from holdfast.store.scripts.reorder import edit_payload
from holdfast.store.scripts.schedules import edit_schedule, put_schedule
from holdfast.store.scripts.templates import edit_template, enqueue_from_template, put_template
from holdfast.store.scripts.watches import add_watch
from holdfast.wire.extras import exchange_wait

_QUOTE = ord('"')
_NOT_BY_CALLERS = ("template_id", "schedule_id", "fire_time")


def complete(script: Callable[..., Any], wanted: Any) -> None:
    """Make what was read ready for its script, or refuse it."""
    _check_trigger(wanted)
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
        _check_trigger(job)
        for field in _NOT_BY_CALLERS:
            if getattr(job, field) is not None:
                raise InvalidInput(
                    f"{field} is not for callers: a job of a template or schedule is made by its own call"
                )


def _check_together(job: Any) -> None:
    if job.due is not None and job.delay_ms is not None:
        raise InvalidInput("a job has either due or delay_ms, not both")
    _check_event(job)


def _check_event(options: Any) -> None:
    if options.wait_for_event is not None:
        check_pattern("wait_for_event", options.wait_for_event)
    elif options.event_attributes:
        raise InvalidInput("event_attributes belong to an event; give wait_for_event as well")


def _check_trigger(wanted: Any) -> None:
    given = getattr(wanted, "trigger", None)
    if given is not None:
        check_json("the trigger", given)


def _payload(wanted: Any) -> None:
    wanted.payload = payload_text(wanted.payload)


def _job_of_template(wanted: Any) -> None:
    _payload(wanted)
    if wanted.overrides.due is not None and wanted.overrides.delay_ms is not None:
        raise InvalidInput("a job has either due or delay_ms, not both")
    if wanted.overrides.wait_for_event is not None:
        check_pattern("wait_for_event", wanted.overrides.wait_for_event)


def _template(wanted: Any) -> None:
    _check_event(wanted.template.options)
    msgspec.structs.force_setattr(wanted.template, "payload", payload_text(wanted.template.payload))


def _schedule(wanted: Any) -> None:
    msgspec.structs.force_setattr(wanted.schedule, "payload", payload_text(wanted.schedule.payload))


def _watch(wanted: Any) -> None:
    msgspec.structs.force_setattr(wanted.watch, "payload", payload_text(wanted.watch.payload))


def _own_template(wanted: Any) -> None:
    _template(wanted)
    _schedule(wanted)


def _declared(wanted: Any) -> None:
    for one in wanted.declared:
        _own_template(one)


def _changed_template(wanted: Any) -> None:
    _changed_payload(wanted)
    if wanted.changes.options is not None:
        _check_event(wanted.changes.options)


def _changed_payload(wanted: Any) -> None:
    given = wanted.changes.payload
    if given is not None:
        text = payload_text(msgspec.Raw(msgspec.json.encode(given)))
        msgspec.structs.force_setattr(wanted.changes, "payload", text)


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
    enqueue_group: _jobs,
    edit_payload: _payload,
    put_template: _template,
    enqueue_from_template: _job_of_template,
    put_schedule: _schedule,
    add_watch: _watch,
    schedule_task: _own_template,
    declare_schedules: _declared,
    edit_template: _changed_template,
    edit_schedule: _changed_payload,
    exchange: _reports,
    exchange_wait: _reports,
    finish: _reports,
    save_checkpoint: _checkpoint,
}
