"""`holdfast queue`, `pause` and `resume`: the lines that jobs wait in, and what is set for them."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, Any

from holdfast.cli.completion import queues
from holdfast.cli.failing import say
from holdfast.cli.options import HomeOption, JsonOption, client
from holdfast.cli.output import RED, YELLOW, Coloured, put, put_lines, show_json, show_table
from holdfast.cli.times import ago, length, seconds
from holdfast.cli.words import Argument, Option
from holdfast.core.errors import InvalidInput
from holdfast.core.job import StateName
from holdfast.core.queue import usual_policy
from holdfast.core.requests import is_system_queue

if TYPE_CHECKING:
    from holdfast.client.remote import Client
    from holdfast.core.breaker import Breaker
    from holdfast.store.scripts.queues import Queue
    from holdfast.store.scripts.stats import QueueStats

DEFAULT_QUEUE = "default"
QueueNames = Annotated[list[str], Argument("QUEUE...", help="Names of queues.", complete=queues)]
HEAD = ("queue", "class", "running", "limit", "rate", "queued", "scheduled", "max", "done", "failed", "held back")
NUMBERS = ("running", "limit", "rate", "queued", "scheduled", "max", "done", "failed")


def queue(
    name: Annotated[str | None, Argument("[QUEUE]", help="Only this queue.", complete=queues)] = None,
    limit: Annotated[int | None, Option(metavar="N", min=0, help="How many of its jobs may run at once.")] = None,
    no_limit: Annotated[bool, Option("--no-limit", help="Let as many run as the workers have slots.")] = False,
    rate: Annotated[
        str | None, Option(metavar="N/TIME", help="How many may start within any such time: 10/min, 5/s, 100/30s.")
    ] = None,
    max_length: Annotated[
        int | None, Option(metavar="N", min=0, help="How many of its jobs may wait; more is refused.")
    ] = None,
    overflow: Annotated[
        str | None,
        Option(metavar="HOW", help="When it is full: reject new jobs, or shed waiting ones of lower priority."),
    ] = None,
    queue_class: Annotated[
        str | None,
        Option("--class", metavar="CLASS", help="How much its jobs burden the machine: light, normal or heavy."),
    ] = None,
    retries: Annotated[
        int | None, Option(metavar="N", min=0, help="How often its jobs are tried again, if they do not say.")
    ] = None,
    preset: Annotated[
        str | None,
        Option(metavar="PRESET", help="Retries by what its jobs are for: cleanup (1), indexing (5, 1s to 5m apart)."),
    ] = None,
    timeout: Annotated[
        str | None, Option(metavar="TIME", help="How long a run may take, for jobs that do not say.")
    ] = None,
    breaker: Annotated[
        int | None,
        Option(metavar="N", min=0, help="Hold it back after N failures in a row by the machine's fault; 0: never."),
    ] = None,
    breaker_for: Annotated[
        str | None, Option(metavar="TIME", help="How long it is held back then, until one job tries.")
    ] = None,
    clear: Annotated[
        list[str] | None,
        Option(
            metavar="SETTING",
            help="Set this back: limit, rate, max-length, overflow, class, retries, timeout, breaker.",
        ),
    ] = None,
    home: HomeOption = None,
    json: JsonOption = False,
) -> None:
    """List the queues, or change what is set for one.

    What is set here holds at once, for all processes, and until it is changed.

    \b
    Examples:
      holdfast queue
      holdfast queue build --limit 2
      holdfast queue build --no-limit
      holdfast queue mail --rate 10/min --max-length 1000 --overflow shed
      holdfast queue index --class heavy --retries 5 --timeout 10m
      holdfast queue index --preset indexing
      holdfast queue index --breaker 3 --breaker-for 1m
      holdfast queue mail --clear rate --clear max-length
    """
    hf = client(home)
    if limit is not None and no_limit:
        raise InvalidInput("give either --limit or --no-limit, not both")
    changes = {
        "limit": limit,
        "rate": rate,
        "max_length": max_length,
        "overflow": overflow,
        "queue_class": queue_class,
        "retry": retries,
        "preset": preset,
        "timeout": seconds("timeout", timeout),
        "breaker": breaker,
        "breaker_for": seconds("breaker-for", breaker_for),
        "clear": [*(clear or []), *(["limit"] if no_limit else [])] or None,
    }
    given: dict[str, Any] = {word: value for word, value in changes.items() if value is not None}
    if given and name is None:
        raise InvalidInput("name the queue whose settings are to change")
    changed = hf.set_queue(name, **given) if given and name is not None else None
    rows = overview(hf)
    shown = [row for row in rows if name is None or row.name == name]
    if changed is not None and not shown:
        shown = [without_jobs(changed)]
    if name is not None and not shown:
        raise InvalidInput(f"queue {name!r} has no jobs and no settings; there are {_names(rows)}")
    if json:
        show_json(shown)
    else:
        show_queues(shown)
        if name is not None:
            put()
            put_lines(settings_of(shown[0]))


def pause(
    names: QueueNames,
    reason: Annotated[str | None, Option(metavar="TEXT", help="Why, for those who ask.")] = None,
    home: HomeOption = None,
    json: JsonOption = False,
) -> None:
    """Start nothing new from a queue.

    What runs goes on.

    \b
    Examples:
      holdfast pause build --reason "the disk is being swapped"
    """
    hf = client(home)
    warn_of_new_queues(hf, names)
    for name in names:
        hf.pause(name, reason)
        if not json:
            put(f"queue {name} is paused; to go on: holdfast resume {name}")
    if json:
        show_json([row for row in overview(hf) if row.name in names])


def resume(names: QueueNames, home: HomeOption = None, json: JsonOption = False) -> None:
    """Start jobs of a queue again that is paused, or held back by its breaker.

    \b
    Examples:
      holdfast resume build
    """
    hf = client(home)
    warn_of_new_queues(hf, names)
    for name in names:
        hf.resume(name)
        if not json:
            put(f"queue {name} goes on")
    if json:
        show_json([row for row in overview(hf) if row.name in names])


def overview(hf: Client) -> list[QueueStats]:
    """Every queue that has jobs or settings."""
    return [line for line in hf.stats().queues if is_in_use(line)]


def warn_of_new_queues(hf: Client, names: list[str]) -> None:
    """Say which queues nobody has used so far: they may come later, or be misspelt."""
    served = {queue for worker in hf.workers() for queue in worker.queues}
    known = {DEFAULT_QUEUE, *hf.counts(), *(one.name for one in hf.queues()), *served}
    for name in names:
        if name not in known and not is_system_queue(name):
            say(f"holdfast: queue {name!r} is new: no job, no setting and no worker names it so far")


def without_jobs(settings: Queue) -> QueueStats:
    """The line of a queue that has no jobs, and perhaps no settings any more."""
    from msgspec import structs

    from holdfast.store.scripts.stats import QueueStats

    return QueueStats(**structs.asdict(settings), jobs={})


def is_in_use(line: QueueStats) -> bool:
    """Whether there is anything to say about a queue."""
    from holdfast.store.scripts.queues import Queue

    usual = Queue(name=line.name)
    return any(line.jobs.values()) or any(
        getattr(line, field) != getattr(usual, field) for field in usual.__struct_fields__
    )


def show_queues(lines: list[QueueStats]) -> None:
    """The queues as a table."""
    show_table(HEAD, [row_of(line) for line in lines], right=NUMBERS)


def row_of(line: QueueStats) -> list[str]:
    """A queue as a row of the table."""
    counts = line.jobs
    failed = counts.get(StateName.FAILED, 0)
    held = []
    if line.paused_at is not None:
        why = f": {line.pause_reason}" if line.pause_reason else ""
        held.append(f"paused {ago(line.paused_at)}{why}")
    if line.tripped is not None:
        held.append(breaker_says(line.tripped))
    return [
        line.name,
        "light" if is_system_queue(line.name) else str(line.queue_class),
        str(counts.get(StateName.RUNNING, 0)),
        _or_dash(line.concurrency),
        _or_dash(line.rate),
        str(counts.get(StateName.QUEUED, 0)),
        str(counts.get(StateName.SCHEDULED, 0)),
        _or_dash(line.max_length),
        str(counts.get(StateName.DONE, 0)),
        Coloured(str(failed), RED if failed else ""),
        Coloured("; ".join(held), YELLOW),
    ]


def breaker_says(tripped: Breaker) -> str:
    """In a few words: that a breaker is open, or that one job tries."""
    from holdfast.observe.redact import redacted_text

    left = (tripped.half_opens_at or 0) - time.time() * 1_000
    state = (
        f"held back for {length(left)}" if left > 0 and not tripped.is_half_open else "held back while one job tries"
    )
    return f"{state}: {redacted_text(tripped.reason)}"


def settings_of(line: QueueStats) -> str:
    """In words: what happens when it is full, and what its jobs do unless they say otherwise."""
    full = {"reject": "when it is full, new jobs are refused", "shed": "when it is full, lower priorities make room"}
    count = (line.retry or usual_policy(line.name)).retries
    retries = "1 retry" if count == 1 else f"{count} retries"
    timeout = "no time-out" if line.timeout_ms is None else f"a time-out of {length(line.timeout_ms)}"
    breaker = (
        f"{line.breaker} failures in a row by the fault of the machine hold it back for {length(line.breaker_for_ms)}"
        if line.breaker and not is_system_queue(line.name)
        else "failures by the fault of the machine do not hold it back"
    )
    return f"{full[line.overflow]}; jobs that do not say have {retries} and {timeout};\n{breaker}"


def _or_dash(value: object) -> str:
    return "-" if value is None else str(value)


def _names(lines: list[QueueStats]) -> str:
    return ", ".join(line.name for line in lines) or "none yet"
