"""What a task declares of itself: how its jobs are run, which arguments it takes, and where its code is.

A worker sends this when it begins. Requests that only know the name of a task are completed from it.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct, structs

from holdfast.core.declared.option import SaidIn
from holdfast.core.declared.option_fields import option_fields
from holdfast.core.errors import InvalidInput
from holdfast.core.job import Millis
from holdfast.core.jobs.requests import NewJob
from holdfast.core.rules import limits
from holdfast.core.rules.pairs import JOB, check_pairs
from holdfast.core.rules.value_rules import SUBJECT
from holdfast.core.tasks.reserved import refuse_offers, refuse_reserved
from holdfast.core.values.arguments import is_readable
from holdfast.core.values.subject import fields_of, fill, tenant_of

MAX_SCHEMA = 64 << 10
RETIRED_MS: Millis = 30 * 86_400_000  # without an offer for so long, a version is forgotten


class KeptOptions(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Options that are stored to make jobs with. None: the layer below decides."""

    if TYPE_CHECKING:  # Its fields are the options, which are declared once, in `options`.

        def __init__(self, **fields: Any) -> None: ...
        def __getattr__(self, name: str) -> Any: ...


@option_fields(SaidIn.TEMPLATE, without=("queue",), called="JobOptions")
class TemplateOptions(KeptOptions, frozen=True, kw_only=True, omit_defaults=True):
    """How the jobs of a template are run. None leaves it to the task. The queue is not among them."""


@option_fields(SaidIn.TASK, without=("trace_id",))
class TaskOptions(KeptOptions, frozen=True, kw_only=True, omit_defaults=True):
    """How the jobs of a task are run. None leaves it to the queue. A subject may name arguments in braces."""


@option_fields(SaidIn.SCHEDULE)
class ScheduleOptions(KeptOptions, frozen=True, kw_only=True, omit_defaults=True):
    """How the jobs of a schedule are run, in place of its template. None leaves it to the template."""


@option_fields(SaidIn.CALL)
class Overrides(KeptOptions, frozen=True, kw_only=True, omit_defaults=True):
    """What one job has in place of its template. None leaves it to the template."""


class DeclaredTask(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A task as its worker declares it.

    `arguments` is the JSON schema of its payload, `source` the module and line of its code, `doc` the first line of its
    docstring. Options and arguments make the version; source and doc may differ within one.
    """

    name: str
    options: TaskOptions = TaskOptions()
    arguments: dict[str, Any] = {}
    source: str | None = None
    doc: str | None = None

    @property
    def schema(self) -> str:
        """The arguments as JSON text; InvalidInput if that is too much to keep."""
        encoded = msgspec.json.encode(self.arguments)
        limits.check_payload(encoded, f"the schema of task {self.name!r}", MAX_SCHEMA)
        return encoded.decode()

    @property
    def digest(self) -> str:
        """The hash of a version of a task."""
        encoded = msgspec.json.encode([self.options, self.arguments], order="deterministic")
        return hashlib.sha256(encoded).hexdigest()[:16]


def check_declared(declared: tuple[DeclaredTask, ...], offered: tuple[str, ...]) -> None:
    """Refuse a task that is declared twice, is not offered, has a reserved name, or arguments that cannot be read."""
    refuse_offers(offered)
    names = set(offered)
    twice = next((name for name, count in Counter(one.name for one in declared).items() if count > 1), None)
    if twice is not None:
        raise InvalidInput(f"task {twice!r} is declared twice; a worker has one version of each task")
    for one in declared:
        if one.name not in names:
            raise InvalidInput(f"task {one.name!r} is declared but not offered; name it among the tasks too")
        refuse_reserved(one.name, one.options.queue)
        if not is_readable(one.arguments):
            raise InvalidInput(f"the arguments of task {one.name!r} are no JSON schema of an object")


def with_options(job: NewJob, options: TaskOptions, schema: Mapping[str, Any], *, any_subject: bool = False) -> NewJob:
    """The complete job, with its open options as its task declares them. A subject is filled from its arguments.

    Options that belong together come from one place: if the job has a time, the delay of the task does not count, and
    the attributes of an event come with the event. `any_subject`: there is no subject if the arguments make none that
    can be stored.
    """
    open_fields = [name for name in options.__struct_fields__ if getattr(job, name) is None]
    values = {name: value for name in open_fields if (value := getattr(options, name)) is not None}
    if job.due is not None:
        values.pop("delay_ms", None)
    if "wait_for_event" in values:
        values["event_attributes"] = options.event_attributes or {}
    if "subject" in values:
        values["subject"] = _subject(values["subject"], job.payload, schema, any_subject)
    subject = values.get("subject", job.subject)
    if job.tenant is None and "tenant" not in values:
        values["tenant"] = tenant_of(subject)
    check_pairs(JOB, {"generation": job.generation, "subject": subject}.get)
    return structs.replace(job, complete=True, **values)


def _subject(pattern: str, payload: str, schema: Mapping[str, Any], any_subject: bool) -> str | None:
    """The subject. None if an argument is missing that it names: the job cannot run, and says so itself."""
    defaults = {name: one["default"] for name, one in schema.get("properties", {}).items() if "default" in one}
    arguments = defaults | msgspec.json.decode(payload)
    if not arguments.keys() >= set(fields_of(pattern)):
        return None
    try:
        return SUBJECT.check("subject", fill(pattern, arguments))
    except InvalidInput:
        if any_subject:
            return None
        raise
