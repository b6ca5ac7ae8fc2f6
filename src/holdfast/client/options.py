"""How a job is to be run, checked and turned into what the store takes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, Protocol, TypeAlias

import msgspec
from msgspec import Struct

from holdfast.client.caller import what_triggers
from holdfast.client.durations import Duration, to_millis, to_moment, to_timeout
from holdfast.client.retry import Retry
from holdfast.core.errors import InvalidInput
from holdfast.core.event import check_attributes, check_pattern
from holdfast.core.group import Needs
from holdfast.core.limits import MAX_PRIORITY, MAX_SUBJECT, check_int, check_label, check_name, shown
from holdfast.core.requests import Dependency, NewJob
from holdfast.core.subject import FIELD, fields_of, fill, tenant_of, unknown_field
from holdfast.core.tokens import KINDS, MOST_TOKENS, Tokens
from holdfast.observe import trace

# Nanoseconds since the epoch fit, and there is always room for a next one.
MAX_GENERATION = 2**62


class HasId(Protocol):
    """A handle: anything with the id of a job."""

    @property
    def id(self) -> str: ...


JobRef: TypeAlias = HasId | str


class Options(Struct, frozen=True, kw_only=True):
    """Everything that can be said about one enqueue; None leaves it to the task or to the default."""

    queue: str | None = None
    priority: int | None = None
    delay: Duration | None = None
    at: datetime | None = None
    ttl: Duration | None = None
    deadline: datetime | None = None
    timeout: Duration | None = None
    retry: Retry | int | None = None
    tag: str | None = None
    tenant: str | None = None
    subject: str | None = None
    generation: int | None = None
    stop_older: bool | None = None
    group: HasId | str | None = None
    after: JobRef | Iterable[JobRef] | None = None
    after_ended: JobRef | Iterable[JobRef] | None = None
    idempotency_key: str | None = None
    trace_id: str | None = None
    when_idle: bool | None = None
    when_charging: bool | None = None
    tokens: Tokens | Mapping[str, int] | None = None
    node: str | None = None
    on_event: str | None = None
    where: Mapping[str, object] | None = None

    def over(self, other: Options) -> Options:
        """These options laid over `other`; `at` and `delay` exclude each other, and `where` goes with its event."""
        values = {
            field: ours if (ours := getattr(self, field)) is not None else getattr(other, field)
            for field in self.__struct_fields__
        }
        if self.at is not None or self.delay is not None:
            values |= {"at": self.at, "delay": self.delay}
        if self.on_event is not None:
            values["where"] = self.where
        return Options(**values)


NOTHING = Options()


class Prepared:
    """Options that were checked once, to make any number of jobs from.

    They are those of the task itself, unless it is known `by_name` only: then the store adds what the task declares.
    """

    def __init__(self, task: str, options: Options, *, by_name: bool = False) -> None:
        if options.delay is not None and options.at is not None:
            raise InvalidInput("give either delay or at, not both")
        if options.generation is not None and options.subject is None and not by_name:
            raise InvalidInput(f"generation {shown(options.generation)} has no subject; give the subject as well")
        if options.where is not None and options.on_event is None:
            raise InvalidInput(f"where {shown(options.where)} says what an event must have; give on_event as well")
        self.subject = None if options.subject is None else _check_template(options.subject)
        self.tenant = options.tenant
        self.idempotency_key = options.idempotency_key
        if options.tenant is not None:
            check_label("tenant", options.tenant)
        if options.idempotency_key is not None:
            check_label("idempotency_key", options.idempotency_key)
        self.fields: dict[str, Any] = {
            "task": task,
            "queue": None if options.queue is None else check_name("queue", options.queue),
            "priority": None if options.priority is None else check_priority(options.priority),
            "delay_ms": None if options.delay is None else to_millis("delay", options.delay),
            "due": None if options.at is None else to_moment("at", options.at),
            "ttl_ms": None if options.ttl is None else to_millis("ttl", options.ttl),
            "deadline": None if options.deadline is None else to_moment("deadline", options.deadline),
            "timeout_ms": to_timeout(options.timeout),
            "policy": None if options.retry is None else Retry.of(options.retry).policy,
            "tag": None if options.tag is None else check_label("tag", options.tag),
            "stop_older": _flag("stop_older", options.stop_older),
            "group_id": None if options.group is None else id_of(options.group),
            "after": (*_after(options.after, Needs.DONE), *_after(options.after_ended, Needs.ENDED)),
            "wait_for_idle": _flag("when_idle", options.when_idle),
            "require_charging": _flag("when_charging", options.when_charging),
            "node": None if options.node is None else check_label("node", options.node),
            "tokens": None if options.tokens is None else check_tokens(options.tokens),
            "wait_for_event": None if options.on_event is None else check_pattern("on_event", options.on_event),
            "event_attributes": {} if options.where is None else check_attributes(options.where),
            "complete": not by_name,
        }
        self.trace_id = None if options.trace_id is None else check_label("trace_id", options.trace_id)
        if options.generation is not None:
            self.fields["generation"] = check_int("generation", options.generation, 0, MAX_GENERATION)

    def job(self, job_id: str, payload: str, arguments: Mapping[str, Any], **more: Any) -> NewJob:
        """A job with this payload; a subject like `editor::{repo}` is filled from the arguments."""
        subject = None
        if self.subject is not None:
            subject = check_label("subject", fill(self.subject, arguments), MAX_SUBJECT)
        trace_id = self.trace_id
        if trace_id is None and "parent_job_id" not in more:
            trace_id = trace.current_id()
        if "trigger" not in more:
            more["trigger"] = what_triggers()
        return NewJob(
            id=job_id,
            payload=payload,
            subject=subject,
            tenant=self.tenant or (None if subject is None else tenant_of(subject)),
            idempotency_key=self.idempotency_key,
            trace_id=trace_id,
            **self.fields,
            **more,
        )


def check_fields(template: str, names: Collection[str]) -> None:
    """Every `{name}` of a subject is an argument of the task."""
    for name in fields_of(_check_template(template)):
        if name not in names:
            raise unknown_field(template, name)


def _check_template(value: str) -> str:
    if not isinstance(value, str):
        raise InvalidInput(f"subject {shown(value)} is not valid: use text")
    if any(match.group() in ("{", "}") for match in FIELD.finditer(value)):
        raise InvalidInput(
            f"subject {shown(value)} has a brace that names no argument: write {{name}}, or {{{{ and }}}} for a brace"
        )
    return value


def _after(value: JobRef | Iterable[JobRef] | None, needs: Needs) -> tuple[Dependency, ...]:
    if value is None:
        return ()
    several = isinstance(value, Iterable) and not isinstance(value, str)
    refs: list[Any] = list(value) if several else [value]  # type: ignore[arg-type]
    return tuple(Dependency(id_of(ref), needs) for ref in refs)


def id_of(ref: JobRef) -> str:
    """The id in a handle, or the id itself."""
    found = ref if isinstance(ref, str) else getattr(ref, "id", None)
    if not isinstance(found, str):
        raise InvalidInput(f"{shown(ref)} is not a job or group: give a handle or an id")
    return check_label("id", found)


def check_priority(value: object) -> int:
    """A priority; higher ones go first."""
    return check_int("priority", value, -MAX_PRIORITY, MAX_PRIORITY)


def check_bool(what: str, value: object) -> bool:
    """True or False; what merely counts as one of them is more likely a mistake."""
    if not isinstance(value, bool):
        raise InvalidInput(f"{what} {shown(value)} is not valid: use True or False")
    return value


def _flag(what: str, value: bool | None) -> bool | None:
    return None if value is None else check_bool(what, value)


def check_tokens(value: object) -> Tokens:
    """So many of each kind that a machine has."""
    given = msgspec.structs.asdict(value) if isinstance(value, Tokens) else value
    if not isinstance(given, Mapping) or not set(given) <= set(KINDS):
        raise InvalidInput(f"tokens {shown(value)} is not valid: use a number for each of {', '.join(KINDS)}")
    return Tokens(**{kind: check_int(kind, count, 0, MOST_TOKENS) for kind, count in given.items()})


def make_options(options: Mapping[str, Any]) -> Options:
    """The options that these words mean; InvalidInput names one that is none."""
    unknown = sorted(set(options) - set(Options.__struct_fields__))
    if unknown:
        allowed = ", ".join(Options.__struct_fields__)
        raise InvalidInput(f"{unknown[0]!r} is not an option; use {allowed}")
    # An iterator could be read once only, and options are read as often as they are laid over others.
    values: dict[str, Any] = {
        name: tuple(value) if isinstance(value, Iterator) else value for name, value in options.items()
    }
    return Options(**values)
