"""What a random history is made of: requests, outcomes, claims and lengths of time.

Whatever names an existing thing is a number; the machine takes the n-th newest, so that a history shrinks well.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st
from hypothesis.vendor.pretty import RepresentationPrinter

from holdfast.core.job import StateName
from holdfast.core.jobs.settle import (
    Broke,
    Completed,
    Outcome,
    Outdated,
    Overdue,
    Skipped,
    Snoozed,
    StoppedByCancel,
    Yielded,
)
from holdfast.core.rules.tokens import Tokens
from holdfast.core.values.group import GroupMode, Needs, OnFailure
from holdfast.core.values.retry import Failure, FailureKind, RetryMode, RetryPolicy

QUEUES = ("default", "other")
TASKS = ("index", "mail")
TAGS = ("red", "blue")
TENANTS = ("default", "acme", "busy")
SUBJECTS = ("a::b::c", "a::b::d")
SPANS = (1, 900, 5_000, 31_000)

NODES = ("laptop", "server")
EVENTS = ("git:commit", "git:push", "job.done")
PATTERNS = (
    "git:commit",
    "git:*",
    "job.done",
    "job.*",
    "*",
    "job.run.failed",
    "group.*",
    "machine.*",
    "schedule.*",
    "alert.*",
)
ATTRIBUTES: tuple[dict[str, str], ...] = ({}, {"branch": "main"}, {"branch": "dev"}, {"branch": "main", "by": "me"})
WANTED: tuple[dict[str, str], ...] = (*ATTRIBUTES, {"task": "index"}, {"queue": "default", "state": "DONE"})

nth = st.integers(0, 15)
queues = st.sampled_from(QUEUES)
tags = st.sampled_from(TAGS)
tenants = st.sampled_from(TENANTS)
tasks = st.sampled_from(TASKS)
priorities = st.sampled_from((0, 0, 5))
spans = st.sampled_from(SPANS)
payloads = st.sampled_from(("{}", '{"x":1}', '{"x":2}'))
limits = st.integers(1, 3)
states = st.lists(st.sampled_from(list(StateName)), max_size=3, unique=True).map(tuple)

policies = st.builds(
    RetryPolicy,
    retries=st.sampled_from((1, 2, 0)),
    initial_ms=st.sampled_from((3, 1_000)),
    cap_ms=st.sampled_from((3_600_000, 1_500)),
    mode=st.sampled_from(RetryMode),
    infra=st.sampled_from((3, 1, 0, 2, 4)),
)


@dataclass(frozen=True)
class Wish:
    """A request before its references are resolved; `deadline` and `due` count from now, `after` and `group` back."""

    options: dict[str, Any]
    due: int | None = None
    deadline: int | None = None
    after: tuple[tuple[int, Needs], ...] = ()
    group: int | None = None

    def _repr_pretty_(self, printer: RepresentationPrinter, cycle: bool) -> None:
        """What is not asked for is not printed."""
        asked = {name: value for name, value in vars(self).items() if name != "options" and value not in (None, ())}
        printer.text(f"Wish({self.options}{''.join(f', {name}={value!r}' for name, value in asked.items())})")


OPTIONS: dict[str, st.SearchStrategy[Any]] = {
    "subject": st.sampled_from(SUBJECTS),
    "idempotency_key": st.sampled_from(("k1", "k2")),
    "delay_ms": spans | st.just(0),
    "due": st.sampled_from((*SPANS, 0, -1)),
    "ttl_ms": spans,
    "deadline": st.sampled_from((*SPANS[1:], 1, -1)),
    "tag": tags,
    "priority": priorities,
    "policy": st.none() | policies,
    "tenant": tenants,
    "queue": queues,
    "task": tasks,
    "payload": payloads,
    "after": st.lists(st.tuples(nth, st.sampled_from(Needs)), min_size=1, max_size=2).map(tuple),
    "group": nth,
    "wait_for_idle": st.just(True),
    "require_charging": st.just(True),
    "tokens": st.sampled_from(
        (Tokens(cpu=1), Tokens(cpu=2), Tokens(cpu=3), Tokens(cpu=1, gpu=1), Tokens(gpu=1, io=1), Tokens(cpu=4))
    ),
    "wait_for_event": st.sampled_from(PATTERNS),
}
NAMES = sorted(OPTIONS)


def _broke(kind: FailureKind, text: str) -> Broke:
    return Broke(Failure(kind, "ERR_TEST", text))


OUTCOMES: tuple[Outcome, ...] = (
    Completed("1"),
    Completed("2"),
    _broke(FailureKind.TRANSIENT, "it broke"),
    _broke(FailureKind.INFRA, "the disk is full"),
    _broke(FailureKind.PERMANENT, "it never works"),
    Snoozed(1_000),
    Yielded("room"),
    Skipped("nothing to do"),
    StoppedByCancel(),
    Outdated(),
    Overdue(),
)


@dataclass(frozen=True)
class Habits:
    """What is usual in one history: without habits, a rare combination would stay rare."""

    options: tuple[str, ...]
    policy: RetryPolicy | None
    outcomes: tuple[Outcome, ...]
    mode: GroupMode
    on_failure: OnFailure


THEMES = (
    ("group",),
    ("group", "deadline"),
    ("after", "due"),
    ("after", "group"),
    ("subject",),
    ("subject", "deadline"),
    ("subject", "after"),
    ("idempotency_key", "policy"),
    ("ttl_ms", "queue"),
    ("wait_for_event",),
    ("wait_for_event", "after"),
    ("wait_for_event", "group"),
    ("wait_for_event", "wait_for_idle", "due"),
    ("wait_for_idle", "require_charging"),
    ("tenant",),
    ("tenant", "priority"),
    ("tenant", "wait_for_idle", "task"),
    ("tokens",),
    ("tokens", "tenant"),
    ("tokens", "queue", "priority"),
    ("tokens", "wait_for_idle", "tenant"),
)

habits = st.builds(
    Habits,
    options=st.sampled_from(THEMES) | st.lists(st.sampled_from(NAMES), max_size=4, unique=True).map(tuple),
    policy=policies | st.none(),
    outcomes=st.lists(st.sampled_from(OUTCOMES), min_size=1, max_size=4, unique=True).map(tuple),
    mode=st.sampled_from((GroupMode.SEQUENTIAL, GroupMode.SEQUENTIAL, GroupMode.PARALLEL)),
    on_failure=st.sampled_from(OnFailure),
)


@st.composite
def wishes(draw: st.DrawFn, usual: Habits) -> Wish:
    """A request as it is usual, or with one thing that is not."""
    often = [name for name in usual.options if draw(st.integers(0, 3))]
    names = dict.fromkeys(often + draw(st.lists(st.sampled_from(NAMES), max_size=1)))
    given = {name: draw(OPTIONS[name]) for name in names}
    if "subject" in given:
        given["generation"] = draw(st.none() | st.integers(0, 4))
        given["stop_older"] = draw(st.booleans())
    if "wait_for_event" in given:
        given["event_attributes"] = draw(st.sampled_from(WANTED))
    if "delay_ms" in given:
        given.pop("due", None)
    apart = {name: given.pop(name) for name in ("due", "deadline", "after", "group") if name in given}
    return Wish({"task": TASKS[0], "policy": usual.policy} | given, **apart)
