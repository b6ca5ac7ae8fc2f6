"""From the options of a program to a job that can be stored."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, cast

from holdfast.core.declared.options import NAMES, OPTIONS, JobOptions
from holdfast.core.errors import InvalidInput
from holdfast.core.jobs.requests import NewJob
from holdfast.core.rules.pairs import JOB, check_pairs
from holdfast.core.settings import rule_table
from holdfast.core.values.subject import check_pattern_of_subject, fields_of, fill, tenant_of, unknown_field
from holdfast.observe import trace
from holdfast.runtime.caller import what_triggers


def given(options: Mapping[str, Any]) -> JobOptions:
    """The given options. InvalidInput names one that does not exist."""
    unknown = sorted(set(options) - set(OPTIONS))
    if unknown:
        raise InvalidInput(f"{unknown[0]!r} is not an option; use {', '.join(OPTIONS)}")
    # An iterator could be read only once, and options are read several times.
    said = {
        name: tuple(value) if isinstance(value, Iterator) else value
        for name, value in options.items()
        if value is not None
    }
    return cast(JobOptions, said)


def laid_over(above: JobOptions, below: JobOptions) -> JobOptions:
    """Options over others. `at` and `delay` exclude each other, and `where` goes with its event."""
    merged: dict[str, Any] = {**below, **above}
    if "at" in above or "delay" in above:
        merged = {name: value for name, value in merged.items() if name in above or name not in ("at", "delay")}
    if "on_event" in above and "where" not in above:
        merged.pop("where", None)
    return cast(JobOptions, merged)


def checked(options: JobOptions) -> dict[str, Any]:
    """The options as they are sent, each checked by itself."""
    fields: dict[str, Any] = {}
    for name, value in options.items():
        option = OPTIONS[name]
        taken = option.kind.check(name, value)
        fields[option.wire] = fields[option.wire] + taken if option.wire in fields else taken
    return fields


def check_together(options: JobOptions, *, elsewhere: Collection[str] = ()) -> None:
    """Refuse options that do not go together. `elsewhere` are fields that a task or a template may give, too."""
    values: Mapping[str, Any] = options
    check_pairs(JOB, lambda field: values.get(NAMES[field]), NAMES.__getitem__, elsewhere=elsewhere)


class Prepared:
    """Options that were checked once, to make any number of jobs from.

    They are those of the task itself, unless it is known `by_name` only: then the store adds what the task declares.
    """

    def __init__(self, task: str, options: JobOptions, *, by_name: bool = False) -> None:
        check_together(options, elsewhere=("subject",) if by_name else ())
        self.fields: dict[str, Any] = {"task": task, "complete": not by_name, **checked(options)}
        self.subject: str | None = self.fields.pop("subject", None)
        self._tenant: str | None = self.fields.pop("tenant", None)
        self._trace_id: str | None = self.fields.pop("trace_id", None)

    def job(self, job_id: str, payload: str, arguments: Mapping[str, Any], **more: Any) -> NewJob:
        """A job with this payload. A subject like `editor::{repo}` is filled from the arguments."""
        subject = None
        if self.subject is not None:
            subject = rule_table.check("subject", fill(self.subject, arguments))
        trace_id = self._trace_id
        if trace_id is None and "parent_job_id" not in more:
            trace_id = trace.current_id()
        if "trigger" not in more:
            more["trigger"] = what_triggers()
        return NewJob(
            id=job_id,
            payload=payload,
            subject=subject,
            tenant=self._tenant or (None if subject is None else tenant_of(subject)),
            trace_id=trace_id,
            **self.fields,
            **more,
        )


def check_fields(template: str, names: Collection[str]) -> None:
    """Refuse a subject with a `{name}` that is no argument of the task."""
    for name in fields_of(check_pattern_of_subject("subject", template)):
        if name not in names:
            raise unknown_field(template, name)
