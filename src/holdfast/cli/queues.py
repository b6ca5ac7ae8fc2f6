"""`holdfast queue`, `pause` and `resume`: the lanes that jobs wait in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from holdfast.cli.completion import queues
from holdfast.cli.options import HomeOption, JsonOption, client
from holdfast.cli.output import RED, YELLOW, Coloured, show_json, show_table
from holdfast.cli.times import ago
from holdfast.cli.words import Argument, Option
from holdfast.core.errors import InvalidInput
from holdfast.core.job import StateName

if TYPE_CHECKING:
    from holdfast.client.remote import Client
    from holdfast.store.scripts.stats import QueueStats

QueueNames = Annotated[list[str], Argument("QUEUE...", help="Names of queues.", complete=queues)]
HEAD = ("queue", "running", "limit", "queued", "scheduled", "done", "failed", "paused")
NUMBERS = ("running", "limit", "queued", "scheduled", "done", "failed")


def queue(
    name: Annotated[str | None, Argument("[QUEUE]", help="Only this queue.", complete=queues)] = None,
    limit: Annotated[int | None, Option(metavar="N", min=0, help="How many of its jobs may run at once.")] = None,
    no_limit: Annotated[bool, Option("--no-limit", help="Let as many run as the workers have slots.")] = False,
    home: HomeOption = None,
    json: JsonOption = False,
) -> None:
    """List the queues, or change the limit of one.

    \b
    Examples:
      holdfast queue
      holdfast queue build --limit 2
      holdfast queue build --no-limit
    """
    hf = client(home)
    if limit is not None or no_limit:
        if name is None:
            raise InvalidInput("name the queue whose limit is to change")
        if limit is not None and no_limit:
            raise InvalidInput("give either --limit or --no-limit, not both")
        hf.limit(name, limit)
    rows = overview(hf)
    shown = [row for row in rows if name is None or row.name == name]
    if name is not None and not shown:
        raise InvalidInput(f"queue {name!r} has no jobs and no settings; there are {_names(rows)}")
    if json:
        show_json(shown)
    else:
        show_queues(shown)


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
    for name in names:
        hf.pause(name, reason)
        if not json:
            print(f"queue {name} is paused; to go on: holdfast resume {name}")
    if json:
        show_json([row for row in overview(hf) if row.name in names])


def resume(names: QueueNames, home: HomeOption = None, json: JsonOption = False) -> None:
    """Start jobs of a paused queue again.

    \b
    Examples:
      holdfast resume build
    """
    hf = client(home)
    for name in names:
        hf.resume(name)
        if not json:
            print(f"queue {name} goes on")
    if json:
        show_json([row for row in overview(hf) if row.name in names])


def overview(hf: Client) -> list[QueueStats]:
    """Every queue that has jobs or settings."""
    return [line for line in hf.stats().queues if is_in_use(line)]


def is_in_use(line: QueueStats) -> bool:
    """Whether there is anything to say about a queue."""
    return any(line.jobs.values()) or line.concurrency is not None or line.paused_at is not None


def show_queues(lines: list[QueueStats]) -> None:
    """The queues as a table."""
    show_table(HEAD, [row_of(line) for line in lines], right=NUMBERS)


def row_of(line: QueueStats) -> list[str]:
    """A queue as a row of the table."""
    counts = line.jobs
    failed = counts.get(StateName.FAILED, 0)
    paused = ""
    if line.paused_at is not None:
        paused = f"{ago(line.paused_at)}: {line.pause_reason}" if line.pause_reason else ago(line.paused_at)
    return [
        line.name,
        str(counts.get(StateName.RUNNING, 0)),
        "-" if line.concurrency is None else str(line.concurrency),
        *(str(counts.get(state, 0)) for state in (StateName.QUEUED, StateName.SCHEDULED, StateName.DONE)),
        Coloured(str(failed), RED if failed else ""),
        Coloured(paused, YELLOW),
    ]


def _names(lines: list[QueueStats]) -> str:
    return ", ".join(line.name for line in lines) or "none yet"
