"""`holdfast queue`, `pause` and `resume`: the lines that jobs wait in, and what is set for them."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any

from holdfast.cli.frame import completion, output, times, typed
from holdfast.cli.frame.clients import client
from holdfast.cli.frame.failures import say
from holdfast.cli.frame.options import ReasonOption
from holdfast.cli.frame.output import RED, YELLOW, Coloured, Output
from holdfast.cli.frame.words import Argument, Option
from holdfast.core.errors import InvalidInput
from holdfast.core.gates.queue import usual_policy
from holdfast.core.job import StateName
from holdfast.core.jobs import requests
from holdfast.core.jobs.requests import DEFAULT_QUEUE
from holdfast.core.settings.queue_settings import CLEARABLE, SETTINGS

if TYPE_CHECKING:
    from holdfast.client.remote import Client
    from holdfast.core.gates.breaker import Breaker
    from holdfast.core.messages.queues import Queue
    from holdfast.core.messages.stats import QueueStats

QueueNames = Annotated[list[str], Argument("QUEUE...", help="Names of queues.", complete=completion.queues)]
HEAD = ("queue", "class", "running", "limit", "rate", "queued", "scheduled", "max", "done", "failed", "held back")
NUMBERS = ("running", "limit", "rate", "queued", "scheduled", "max", "done", "failed")


class SettingWords:
    """The words for what can be set for a queue, for `**said: Annotated[Any, SettingWords()]`."""

    def hints(self) -> dict[str, Any]:
        """What the command line needs to know of each."""
        names = ", ".join(typed.word_name(setting.name, setting.word).strip("-") for setting in CLEARABLE)
        return typed.setting_words(SETTINGS, "QueueChanges.") | {
            "no_limit": Annotated[bool, Option("--no-limit", help="Let as many run as the workers have slots.")],
            "clear": Annotated[list[str] | None, Option(metavar="SETTING", help=f"Set this back: {names}.")],
        }


def read_changes(hf: Client, said: Mapping[str, Any]) -> dict[str, Any]:
    """The settings to change or set back, as the SDK takes them. What was not given is left out."""
    if said["limit"] is not None and said["no_limit"]:
        raise InvalidInput("give either --limit or --no-limit, not both")
    found = typed.read_settings(hf, SETTINGS, said)
    clear = [*(said["clear"] or ()), *(["limit"] if said["no_limit"] else ())]
    return found | ({"clear": clear} if clear else {})


def queue(
    name: Annotated[str | None, Argument("[QUEUE]", help="Only this queue.", complete=completion.queues)] = None,
    **said: Annotated[Any, SettingWords()],
) -> Output:
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
    hf = client()
    given = read_changes(hf, said)
    if given and name is None:
        raise InvalidInput("name the queue whose settings are to change")
    changed = hf.set_queue(name, **given) if given and name is not None else None
    rows = overview(hf)
    shown = [row for row in rows if name is None or row.name == name]
    if changed is not None and not shown:
        shown = [without_jobs(changed)]
    if name is not None and not shown:
        raise InvalidInput(f"queue {name!r} has no jobs and no settings; there are {_names(rows)}")
    return Output(shown, lambda: _show(shown, is_one=name is not None))


def _show(lines: list[QueueStats], *, is_one: bool) -> None:
    show_queues(lines)
    if is_one:
        output.put()
        output.put_lines(settings_of(lines[0]))


def pause(names: QueueNames, reason: ReasonOption = None, *, json: bool) -> Output:
    """Start nothing new from a queue.

    What runs goes on.

    \b
    Examples:
      holdfast pause build --reason "the disk is being swapped"
    """
    hf = client()
    warn_of_new_queues(hf, names)
    for name in names:
        hf.pause(name, reason)
        if not json:
            output.put(f"queue {name} is paused; to go on: holdfast resume {name}")
    return Output(lambda: [line for line in overview(hf) if line.name in names])


def resume(names: QueueNames, *, json: bool) -> Output:
    """Start jobs of a queue again that is paused, or held back by its breaker.

    \b
    Examples:
      holdfast resume build
    """
    hf = client()
    warn_of_new_queues(hf, names)
    for name in names:
        hf.resume(name)
        if not json:
            output.put(f"queue {name} goes on")
    return Output(lambda: [line for line in overview(hf) if line.name in names])


def overview(hf: Client) -> list[QueueStats]:
    """Every queue that has jobs or settings."""
    return [line for line in hf.stats().queues if is_in_use(line)]


def warn_of_new_queues(hf: Client, names: list[str]) -> None:
    """Warn of queues that were never used: they may come later, or be misspelt."""
    served = {queue for worker in hf.workers() for queue in worker.queues}
    known = {DEFAULT_QUEUE, *hf.counts(), *(one.name for one in hf.queues()), *served}
    for name in names:
        if name not in known and not requests.is_system_queue(name):
            say(f"holdfast: queue {name!r} is new: no job, no setting and no worker names it so far")


def without_jobs(settings: Queue) -> QueueStats:
    """The entry of a queue without jobs, and perhaps without settings."""
    from msgspec import structs

    from holdfast.core.messages.stats import QueueStats

    return QueueStats(**structs.asdict(settings), jobs={})


def is_in_use(line: QueueStats) -> bool:
    """Whether a queue is worth showing."""
    from holdfast.core.messages.queues import Queue

    usual = Queue(name=line.name)
    return any(line.jobs.values()) or any(
        getattr(line, field) != getattr(usual, field) for field in usual.__struct_fields__
    )


def show_queues(lines: list[QueueStats]) -> None:
    """The queues as a table."""
    output.show_table(HEAD, [row_of(line) for line in lines], right=NUMBERS)


def row_of(line: QueueStats) -> list[str]:
    """A queue as a row of the table."""
    counts = line.jobs
    failed = counts.get(StateName.FAILED, 0)
    held = []
    if line.paused_at is not None:
        why = f": {line.pause_reason}" if line.pause_reason else ""
        held.append(f"paused {times.ago(line.paused_at)}{why}")
    if line.tripped is not None:
        held.append(breaker_says(line.tripped))
    return [
        line.name,
        "light" if requests.is_system_queue(line.name) else str(line.queue_class),
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
    """A breaker in a few words: it is open, or one job probes."""
    from holdfast.observe.redact import redacted_text

    left = (tripped.half_opens_at or 0) - time.time() * 1_000
    state = (
        f"held back for {times.length(left)}"
        if left > 0 and not tripped.is_half_open
        else "held back while one job tries"
    )
    return f"{state}: {redacted_text(tripped.reason)}"


def settings_of(line: QueueStats) -> str:
    """The settings in words: what happens when it is full, the defaults of its jobs, and what else is set."""
    full = {"reject": "when it is full, new jobs are refused", "shed": "when it is full, lower priorities make room"}
    count = (line.retry or usual_policy(line.name)).retries
    retries = "1 retry" if count == 1 else f"{count} retries"
    timeout = "no time-out" if line.timeout_ms is None else f"a time-out of {times.length(line.timeout_ms)}"
    breaker = (
        f"{line.breaker} failures in a row by the fault of the machine hold it back for "
        f"{times.length(line.breaker_for_ms)}"
        if line.breaker and not requests.is_system_queue(line.name)
        else "failures by the fault of the machine do not hold it back"
    )
    return "\n".join(
        [f"{full[line.overflow]}; jobs that do not say have {retries} and {timeout};", breaker, *_labelled(line)]
    )


def _labelled(line: QueueStats) -> Iterator[str]:
    """The settings that have a label, unless they have their defaults."""
    for setting in SETTINGS.values():
        for field, kind in setting.fields.items() if setting.label else ():
            value = getattr(line, field)
            if value != setting.default:
                yield f"{setting.label} {typed.text_of(kind.typed, value)}"


def _or_dash(value: object) -> str:
    return "-" if value is None else str(value)


def _names(lines: list[QueueStats]) -> str:
    return ", ".join(line.name for line in lines) or "none yet"
