"""What the model knows of each thing: plain records, changed in place."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field, is_dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from holdfast.core.job import StateName as S
from holdfast.core.jobs.requests import NewJob
from holdfast.core.messages.schedules import NewSchedule
from holdfast.core.messages.templates import NewTemplate
from holdfast.core.rules.tokens import NO_TOKENS, Tokens
from holdfast.core.values.group import GroupMode, Needs, OnFailure
from holdfast.core.values.retry import RetryPolicy
from holdfast.core.values.subject import DEFAULT_TENANT

T = TypeVar("T")


def duplicate(record: T) -> T:
    """A record that can be changed while the other stays as it is; what it refers to is never changed in place."""
    if not is_dataclass(record):
        return record
    after = copy(record)
    for name, value in vars(after).items():
        if isinstance(value, dict):
            setattr(after, name, dict(value))
    return after


class Ask(NewJob, frozen=True, kw_only=True):
    """A request that leaves nothing to its task: the tasks of the model declare nothing."""

    queue: str = "default"
    priority: int = 0
    tenant: str = DEFAULT_TENANT
    stop_older: bool = False
    wait_for_idle: bool = False
    require_charging: bool = False
    tokens: Tokens = NO_TOKENS

    if TYPE_CHECKING:

        def __init__(self, **fields: Any) -> None: ...


@dataclass
class Job:
    """A job. `waits` and `behind` name those that must end before it: its dependencies, and the member before it.

    `unheard`: the event that it waits for has not come; `came` is the one that did.
    """

    ask: Ask
    id: str
    created: int
    number: int = 0
    position: int = 0
    state: S = S.SCHEDULED
    arrived: S = S.SCHEDULED  # how it was stored
    due: int | None = None
    queued: int | None = None
    ended: int | None = None
    generation: int | None = None
    retry_of: str | None = None
    is_retried: bool = False  # by hand, as a member of a group
    seq: int | None = None
    turn: int = 0  # in which order the members of a sequential group come: as they joined, or were retried
    waits: dict[str, Needs] = field(default_factory=dict)
    parents: dict[str, Needs] = field(default_factory=dict)  # what it was to come after, ended or not
    behind: str | None = None
    unheard: bool = False
    met: int = 0  # when the last event or job that it waited for came
    came: str | None = None
    attempts: int = 0
    transient: int = 0
    infra: int = 0
    deaths: int = 0
    suspect: bool = False
    left_out: bool = False
    passed: int | None = None  # since when others were let ahead for want of tokens
    aged: bool = False
    run: str | None = None
    session: str | None = None
    stop: str | None = None
    why: str = ""
    blamed: str | None = None  # whose end it was cancelled for

    @property
    def policy(self) -> RetryPolicy:
        """Since its enqueue it has one, its own or that of its queue."""
        policy = self.ask.policy
        assert isinstance(policy, RetryPolicy)
        return policy

    @property
    def line(self) -> tuple[str, str, int]:
        """Places are within a tenant and a priority of a queue."""
        return (self.ask.queue, self.ask.tenant, self.ask.priority)

    @property
    def subject(self) -> tuple[str, str] | None:
        return None if self.ask.subject is None else (self.ask.task, self.ask.subject)

    @property
    def is_held(self) -> bool:
        """Whether something other than its time keeps it from being ready."""
        return bool(self.waits) or self.behind is not None or self.unheard

    @property
    def free_since(self) -> int:
        """When the last of all that it waited for came true."""
        return max(self.created, self.due or 0, self.met)

    @property
    def rank(self) -> tuple[int, int, int, str]:
        return (-self.ask.priority, self.position, self.created, self.id)

    @property
    def expires(self) -> int | None:
        return None if self.ask.ttl_ms is None or self.queued is None else self.queued + self.ask.ttl_ms

    def is_late(self, now: int) -> bool:
        return self.ask.deadline is not None and self.ask.deadline <= now

    def is_stale(self, now: int) -> bool:
        return self.expires is not None and self.expires <= now


@dataclass
class Run:
    job: str
    attempt: int
    session: str
    payload: str
    status: str | None = None  # None while it is open
    said: tuple[str, ...] = ()  # what it was closed with


@dataclass
class Session:
    beat: int
    status: str = "running"
    orderly: bool = False
    lost: int | None = None
    node: str = ""


@dataclass
class Held:
    scope: str
    session: str
    ttl: int
    expires: int
    status: str = "ACTIVE"
    granted: int | None = None
    since: int = 0


@dataclass
class Queue:
    """What is set for a queue. `opens`: when somebody is woken because its rate has room again."""

    rate: tuple[int, int] | None = None
    most: int | None = None
    sheds: bool = False
    retry: RetryPolicy | None = None
    opens: int | None = None
    breaker: tuple[int, int] = (5, 30_000)


@dataclass
class Breaker:
    """Infra failures in a row, and the time of the last. From `opened` to `half_opens` nothing starts, then a probe."""

    failures: int
    failed: int
    opened: int | None = None
    half_opens: int | None = None
    half_open: bool = False
    probe: str | None = None


@dataclass
class Tenant:
    virtual: float = 0.0
    weight: int = 10
    active: int | None = None
    starts: int = 0


@dataclass
class Letter:
    """What a job left that failed for good."""

    kind: str
    failed: int
    closed: str | None = None
    retried: str | None = None


@dataclass
class Group:
    mode: GroupMode
    on_failure: OnFailure
    created: int
    reopened: bool = False  # members were retried after it had ended


@dataclass
class Event:
    name: str
    about: dict[str, str]
    at: int
    upto: int  # the newest job at that moment
    spreads: bool
    number: int


@dataclass
class Machine:
    idle: bool
    charging: bool


@dataclass
class Webhook:
    patterns: tuple[str, ...]
    enabled: bool = True


@dataclass
class Delivery:
    webhook: str
    event_id: str
    event: Event
    key: str
    job: str


@dataclass
class Template:
    ask: NewTemplate
    archived: bool = False


@dataclass
class Schedule:
    """No tick at or before `settled` fires."""

    ask: NewSchedule
    settled: int
    enabled: bool = True
    reason: str | None = None
    next: int | None = None
    fired: int | None = None
    fires: int = 0
    skips: dict[str, tuple[int, int]] = field(default_factory=dict)


@dataclass
class Seen:
    """What the store alone could choose: ids, and times within bounds."""

    runs: dict[str, str] = field(default_factory=dict)  # the open run of a job
    links: dict[str, str] = field(default_factory=dict)  # the job that continues a job
    times: dict[str, int | None] = field(default_factory=dict)  # when a job is due
    ticks: dict[tuple[str, int], str] = field(default_factory=dict)  # the first job of a tick
    events: dict[str, tuple[str, dict[str, str]]] = field(default_factory=dict)  # names and attributes
    numbers: dict[str, int] = field(default_factory=dict)  # of the events
    deliveries: dict[tuple[str, str], tuple[str, str]] = field(default_factory=dict)  # of a webhook and an event
    payloads: dict[str, str] = field(default_factory=dict)
