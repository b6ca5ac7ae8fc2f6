"""What a task declares of itself: how its jobs are to be run, which arguments it takes, and where it stands.

A worker sends this when it begins; requests that name a task without having its code are completed from it.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct, structs

from holdfast.core.arguments import is_readable
from holdfast.core.errors import InvalidInput
from holdfast.core.job import Millis
from holdfast.core.limits import MAX_SUBJECT, check_label, check_payload
from holdfast.core.requests import NewJob
from holdfast.core.reserved import refuse_offers, refuse_reserved
from holdfast.core.retry import RetryPolicy
from holdfast.core.subject import fields_of, fill, tenant_of
from holdfast.core.tokens import Tokens

MAX_SCHEMA = 64 << 10
MAX_DOC = 200
RETIRED_MS: Millis = 30 * 86_400_000  # without an offer for so long, a version is forgotten


class JobOptions(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How the jobs of a template are to be run; None leaves it to the task."""

    priority: int | None = None
    tenant: str | None = None
    subject: str | None = None
    stop_older: bool | None = None
    delay_ms: Millis | None = None
    ttl_ms: Millis | None = None
    timeout_ms: Millis | None = None
    policy: RetryPolicy | None = None
    tag: str | None = None
    wait_for_idle: bool | None = None
    require_charging: bool | None = None
    tokens: Tokens | None = None
    wait_for_event: str | None = None
    event_attributes: dict[str, str] | None = None


class TaskOptions(JobOptions, frozen=True, kw_only=True, omit_defaults=True):
    """How the jobs of a task are to be run; None leaves it to the queue. A subject may name arguments in braces."""

    queue: str | None = None
    node: str | None = None


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
        check_payload(encoded, f"the schema of task {self.name!r}", MAX_SCHEMA)
        return encoded.decode()

    @property
    def digest(self) -> str:
        """What tells one version of a task from another."""
        encoded = msgspec.json.encode([self.options, self.arguments], order="deterministic")
        return hashlib.sha256(encoded).hexdigest()[:16]


def check_declared(declared: tuple[DeclaredTask, ...], offered: tuple[str, ...]) -> None:
    """Each is declared once, is offered, and says of its arguments what can be read. No name is reserved."""
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
    """The job complete: what it leaves open is as its task declares. A subject is filled from the job's arguments.

    What belongs together comes together: a moment of its own leaves out the delay of the task, and what an event must
    have comes with the event. `any_subject`: there is none where the arguments make none that could be stored.
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
    if job.generation is not None and subject is None:
        raise InvalidInput(f"generation {job.generation} has no subject; give the subject as well")
    return structs.replace(job, complete=True, **values)


def _subject(pattern: str, payload: str, schema: Mapping[str, Any], any_subject: bool) -> str | None:
    """None where an argument is missing that it names: the job cannot run, and says so itself."""
    defaults = {name: one["default"] for name, one in schema.get("properties", {}).items() if "default" in one}
    arguments = defaults | msgspec.json.decode(payload)
    if not arguments.keys() >= set(fields_of(pattern)):
        return None
    try:
        return check_label("subject", fill(pattern, arguments), MAX_SUBJECT)
    except InvalidInput:
        if any_subject:
            return None
        raise
