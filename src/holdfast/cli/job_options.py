"""How a job is to be run: the options that `run` and `enqueue` share."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

from holdfast.cli.completion import jobs, queues, tenants
from holdfast.cli.failing import say
from holdfast.cli.times import ago, moment, seconds
from holdfast.cli.words import Option
from holdfast.core.errors import InvalidInput, UnknownTask
from holdfast.core.limits import shown
from holdfast.core.tokens import KINDS, MOST_TOKENS

if TYPE_CHECKING:
    from holdfast.client.remote import Client

MOST_DIGITS = 9
_WHOLE = re.compile(r"-?\d+", re.ASCII)

InQueue = Annotated[str | None, Option("--queue", "-q", metavar="QUEUE", help="Which queue.", complete=queues)]
Priority = Annotated[int | None, Option("--priority", "-p", metavar="N", help="Higher runs first.")]
Retries = Annotated[int | None, Option(metavar="N", min=0, help="How many tries may follow a first one that fails.")]
Timeout = Annotated[str | None, Option(metavar="TIME", help="How long one run may take: 90s, 1h30m.")]
Delay = Annotated[str | None, Option(metavar="TIME", help="How long to wait first.")]
At = Annotated[str | None, Option(metavar="MOMENT", help="When: 18:30, or 2030-01-31T18:30.")]
Ttl = Annotated[str | None, Option(metavar="TIME", help="Skip it if it is still waiting after this.")]
Deadline = Annotated[str | None, Option(metavar="MOMENT", help="Skip or stop it at this moment.")]
Tag = Annotated[str | None, Option(metavar="TAG", help="A word to find it by.")]
Tenant = Annotated[
    str | None,
    Option(metavar="TENANT", help="Whose turn it takes in the queue; else the subject says.", complete=tenants),
]
Subject = Annotated[
    str | None, Option(metavar="TEXT", help="What it is about; a newer job supersedes those that wait.")
]
Group = Annotated[str | None, Option(metavar="GROUP", help="The group it belongs to, by id or name.")]
After = Annotated[
    list[str] | None, Option(metavar="JOB", help="Only after this job is done. Repeatable.", complete=jobs)
]
AfterEnded = Annotated[
    list[str] | None,
    Option(metavar="JOB", help="Only after this job has ended, whatever the outcome. Repeatable.", complete=jobs),
]
WhenIdle = Annotated[bool, Option("--when-idle", help="Only while nobody uses the machine.")]
WhenCharging = Annotated[bool, Option("--when-charging", help="Only while the machine has mains power.")]
TokensWord = Annotated[
    str | None,
    Option("--tokens", metavar="KIND=N,...", help="What it takes of the machine while it runs: cpu=2,gpu=1,io=1."),
]
Here = Annotated[bool, Option("--here", help="On this machine alone.")]
OnNode = Annotated[str | None, Option("--node", metavar="NODE", help="On this machine alone, by name or id.")]
Anywhere = Annotated[bool, Option("--anywhere", help="On any machine that shares the database.")]
WaitForRoom = Annotated[
    str | None,
    Option(metavar="TIME", help="How long to wait while there is no room for it: 0 for not at all; 30s if not said."),
]
Anyway = Annotated[bool, Option("--anyway", help="Store it even if no worker has declared the task yet.")]
OnEvent = Annotated[
    str | None, Option(metavar="NAME", help="Only after this event, emitted from now on; git:* means any ending.")
]
Where = Annotated[
    list[str] | None, Option(metavar="KEY=VALUE", help="What the event must have. Repeatable: one event has it all.")
]


def options(
    hf: Client,
    *,
    queue: str | None,
    priority: int | None,
    retries: int | None,
    timeout: str | None,
    delay: str | None,
    at: str | None,
    ttl: str | None,
    deadline: str | None,
    tag: str | None,
    tenant: str | None,
    subject: str | None,
    group: str | None,
    after: list[str] | None,
    after_ended: list[str] | None,
    when_idle: bool,
    when_charging: bool,
    tokens: str | None,
    on_event: str | None,
    where: list[str] | None,
    wait_for_room: str | None = None,
    node: str | None = None,
) -> dict[str, Any]:
    """What was said about a job, as the SDK takes it."""
    hf.wait_for_room(seconds("wait-for-room", wait_for_room))
    if on_event is not None:
        from holdfast.core.event import check_pattern

        check_pattern("--on-event", on_event)
    elif where:
        raise InvalidInput(f"--where {where[0]} says what an event must have: name the event too, with --on-event")
    if group is not None:
        from holdfast.cli.group import find_group

        group = find_group(hf, group).id
    return {
        "queue": queue,
        "priority": priority,
        "retry": retries,
        "timeout": seconds("timeout", timeout),
        "delay": seconds("delay", delay),
        "at": _at(at),
        "ttl": seconds("ttl", ttl),
        "deadline": moment("deadline", deadline),
        "tag": tag,
        "tenant": tenant,
        # A subject of the SDK may name arguments in braces; here it is what it is.
        "subject": subject and subject.replace("{", "{{").replace("}", "}}"),
        "group": group,
        "after": [hf.job(job) for job in after] if after else None,
        "after_ended": [hf.job(job) for job in after_ended] if after_ended else None,
        "when_idle": when_idle or None,
        "when_charging": when_charging or None,
        "tokens": token_counts("--tokens ", tokens),
        "node": node,
        "on_event": on_event,
        "where": attributes("--where ", where) if where else None,
    }


def _at(text: str | None) -> datetime | None:
    then = moment("at", text)
    if then is not None and then < datetime.now(UTC):
        say(f"holdfast: --at {text} was {ago(round(then.timestamp() * 1000))}; it runs as soon as it can")
    return then


def machine(hf: Client, here: bool, node: str | None, anywhere: bool, *, is_usual_here: bool = False) -> str | None:
    """The machine that alone may run it; None: any may."""
    if here + (node is not None) + anywhere > 1:
        raise InvalidInput("give one of --here, --node and --anywhere: a job may run on one machine, or on any")
    if here or (is_usual_here and node is None and not anywhere and hf.engine.is_shared):
        return hf.here
    return node


@contextmanager
def known_tasks() -> Iterator[None]:
    """Whoever types the name of an unknown task is told how to insist."""
    try:
        yield
    except UnknownTask as error:
        raise UnknownTask(f"{error}; to store it all the same: --anyway") from None


def token_counts(said_by: str, given: str | None) -> dict[str, int] | None:
    """`cpu=2,gpu=1` as a number for each kind."""
    if given is None:
        return None
    found: dict[str, int] = {}
    for word in given.split(","):
        kind, _, count = word.strip().partition("=")
        if kind not in KINDS or kind in found or not _WHOLE.fullmatch(count):
            kinds = ", ".join(KINDS)
            raise InvalidInput(f"{said_by}{shown(given)} is not valid: write KIND=N, each of {kinds} at most once")
        if count.startswith("-") or len(count) > MOST_DIGITS:
            raise InvalidInput(f"{said_by}{shown(word)} is not valid: use a number from 0 to {MOST_TOKENS}")
        found[kind] = int(count)
    return found


def attributes(said_by: str, given: list[str] | None) -> dict[str, str]:
    """`KEY=VALUE` words as attributes of an event."""
    found: dict[str, str] = {}
    for word in given or ():
        name, is_set, value = word.partition("=")
        if not is_set:
            raise InvalidInput(f"{said_by}{shown(word)} is not an attribute: write KEY=VALUE")
        if name in found:
            raise InvalidInput(f"{said_by}{shown(name)} is given twice; an event has one value for each name")
        found[name] = value
    return found
