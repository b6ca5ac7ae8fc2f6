"""How the request of a call is prepared for its script: JSON inside of JSON, and fields that do not go together.

A call names the function that it needs. What one field may be by itself is in core/settings/rule_table.py.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import msgspec

from holdfast.core.errors import InvalidInput, InvalidPayload
from holdfast.core.jobs.requests import NewJob, Report
from holdfast.core.jobs.settle import Completed
from holdfast.core.rules import limits
from holdfast.core.rules.pairs import JOB, OF_TEMPLATES, check_pairs
from holdfast.core.values.payload import PAYLOAD, read_payload
from holdfast.core.values.variables import check_size

_QUOTE = ord('"')
_NOT_BY_CALLERS = ("template_id", "schedule_id", "fire_time")


def payload_text(given: msgspec.Raw | str) -> str:
    """A payload as it is stored: the text of a JSON object."""
    if isinstance(given, str):
        return given  # Nothing was given; this is the default.
    encoded = bytes(given)
    try:
        if encoded[0] == _QUOTE:
            encoded = msgspec.json.decode(encoded, type=str).encode()
        read_payload(encoded)
        return encoded.decode()
    except InvalidPayload:
        raise
    except ValueError as error:
        raise InvalidPayload(f"{PAYLOAD} is not JSON: {error}") from None


def check_json(what: str, text: str) -> None:
    """Refuse a text that is not JSON."""
    encoded = text.encode()
    limits.check_payload(encoded, what)
    try:
        msgspec.json.decode(encoded)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"{what} is not JSON: {error}") from None


def jobs(wanted: Any) -> None:
    """Jobs to be stored."""
    given: Sequence[NewJob] = wanted.jobs
    for job in given:
        # No other code has seen it yet, and it is not worth a copy.
        msgspec.structs.force_setattr(job, "payload", payload_text(job.payload))
        _check_together(job)
        check_trigger(job)
        for field in _NOT_BY_CALLERS:
            if getattr(job, field) is not None:
                raise InvalidInput(
                    f"{field} is not for callers: a job of a template or schedule is made by its own call"
                )


def _check_together(options: Any, elsewhere: Collection[str] = ("subject",)) -> None:
    """Check fields that belong together. A task may give the subject too."""
    check_pairs(JOB, lambda field: getattr(options, field, None), elsewhere=elsewhere)
    if options.env is not None:
        check_size("env", options.env)


def check_trigger(wanted: Any) -> None:
    """Refuse a trigger that is not JSON."""
    given = getattr(wanted, "trigger", None)
    if given is not None:
        check_json("the trigger", given)


def payload(wanted: Any) -> None:
    """The payload of one job."""
    wanted.payload = payload_text(wanted.payload)


def job_of_template(wanted: Any) -> None:
    """A job of a template."""
    payload(wanted)
    _check_together(wanted.overrides, OF_TEMPLATES)


def template(wanted: Any) -> None:
    """A template."""
    _check_together(wanted.template.options)
    msgspec.structs.force_setattr(wanted.template, "payload", payload_text(wanted.template.payload))


def schedule(wanted: Any) -> None:
    """A schedule."""
    _check_together(wanted.schedule.options, OF_TEMPLATES)
    msgspec.structs.force_setattr(wanted.schedule, "payload", payload_text(wanted.schedule.payload))


def watch(wanted: Any) -> None:
    """A watch."""
    msgspec.structs.force_setattr(wanted.watch, "payload", payload_text(wanted.watch.payload))


def template_and_schedule(wanted: Any) -> None:
    """A schedule with a template of its own."""
    template(wanted)
    schedule(wanted)


def declared_schedules(wanted: Any) -> None:
    """Schedules from the code of a program."""
    for one in wanted.declared:
        template_and_schedule(one)


def changed_template(wanted: Any) -> None:
    """Changes of a template."""
    _changed_payload(wanted)
    if wanted.changes.options is not None:
        _check_together(wanted.changes.options)


def changed_schedule(wanted: Any) -> None:
    """Changes of a schedule."""
    _changed_payload(wanted)
    if wanted.changes.options is not None:
        _check_together(wanted.changes.options, OF_TEMPLATES)


def _changed_payload(wanted: Any) -> None:
    """Changes that may have a payload."""
    given = wanted.changes.payload
    if given is not None:
        text = payload_text(msgspec.Raw(msgspec.json.encode(given)))
        msgspec.structs.force_setattr(wanted.changes, "payload", text)


def reports(wanted: Any) -> None:
    """What a worker reports of its runs."""
    given: Sequence[Report] = wanted.reports
    for report in given:
        if isinstance(report.outcome, Completed):
            check_json("the result", report.outcome.result)
        if report.artifacts is not None:
            check_json("the list of artifacts", report.artifacts)


def checkpoint(wanted: Any) -> None:
    """What a run leaves for the next one."""
    check_json("the checkpoint", wanted.data)
