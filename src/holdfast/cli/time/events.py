"""`holdfast emit` and `holdfast events`: say that something happened, and look at what did."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from itertools import chain
from json import dumps
from typing import TYPE_CHECKING, Annotated, Any

from holdfast.cli.frame import given, jobs_shown, output, times
from holdfast.cli.frame.clients import client
from holdfast.cli.frame.command import group_of
from holdfast.cli.frame.failures import say
from holdfast.cli.frame.options import LimitOption
from holdfast.cli.frame.output import DIM, Coloured, Output
from holdfast.cli.frame.typed import attributes as read_attributes
from holdfast.cli.frame.words import Argument, Option

if TYPE_CHECKING:
    from holdfast.client.remote import Client
    from holdfast.core.messages.events import EventView

OWN = "events of jobs, runs, groups, schedules and the machine are kept only if a job or a webhook wants them"
HEAD = ("number", "event", "name", "attributes", "when", "triggered by", "let go")
LOOK_S = 1.0
PAGE = 200
MOST_SHOWN = 8


def emit(
    name: Annotated[str, Argument("NAME", help="What happened, such as git:commit.")],
    about: Annotated[list[str] | None, Argument("[KEY=VALUE]...", help="What is known about it.")] = None,
    data: Annotated[str | None, Option(metavar="JSON", help="More about it: any JSON, at most 64 KiB.")] = None,
) -> Output:
    """Say that something happened.

    Jobs that wait for it go on, webhooks are told, and handlers of apps are called.

    \b
    Examples:
      holdfast emit git:commit branch=main author=ada
      holdfast emit light:on room=kitchen --data '{"level": 80}'
    """
    from holdfast.core.messages.events import MOST_COUNTED

    told = client().emit(
        name, attributes=read_attributes("", about), data=None if data is None else given.read_json("--data", data)
    )
    count = f"{MOST_COUNTED} jobs or more" if told.waiting >= MOST_COUNTED else _jobs(told.waiting)
    also = f", {told.webhooks} webhook{'s are' if told.webhooks > 1 else ' is'} told" if told.webhooks else ""
    heard = f", {told.apps} app{'s listen' if told.apps > 1 else ' listens'} to it" if told.apps else ""
    return Output(told, f"event {told.id}: {count} waited for it{also}{heard}")


def list_(
    name: Annotated[str | None, Option(metavar="PATTERN", help="Only this name; git:* means any ending.")] = None,
    limit: LimitOption = 20,
    follow: Annotated[
        bool, Option("--follow", "-f", help="The newest, and then each that comes, until Ctrl-C.")
    ] = False,
    *,
    json: bool,
) -> Output | None:
    """List the events of the last day, newest first, with the jobs that each let go.

    \b
    Examples:
      holdfast events ls
      holdfast events ls --name 'git:*' -n 5
      holdfast events --follow
    """
    hf = client()
    if follow:
        for view in _follow(hf, name, limit):
            _tell(hf, view, json=json)
        return None
    page = hf.events(name, limit=limit)
    none = ["no events fit" if name else "no events yet; try: holdfast emit hello", OWN]
    return output.listed(page, HEAD, (_row(hf, view) for view in page.events), none=none)


def _row(hf: Client, view: EventView) -> list[str]:
    return [
        str(view.event.number),
        view.event.id,
        view.event.name,
        _attributes(view),
        times.ago(view.event.emitted_at),
        jobs_shown.triggered(view.event.trigger, hf),
        _reached(view),
    ]


def show(event: Annotated[str, Argument("EVENT", help="An event's id.")]) -> Output:
    """Show one event with everything that it triggered.

    \b
    Examples:
      holdfast events show 0192f0c1-7c1a-7d3e-9f6b-3a1f2b4c5d6e
    """
    hf = client()
    view = hf.event(event)
    return Output(view, lambda: _show(hf, view))


def _show(hf: Client, view: EventView) -> None:
    found = view.event
    output.show_fields(
        [
            ("event", found.id),
            ("number", str(found.number)),
            ("name", found.name),
            ("attributes", _attributes(view)),
            ("data", None if found.data is None else _data(found.data)),
            ("emitted", times.when(found.emitted_at)),
            ("triggered by", jobs_shown.triggered(found.trigger, hf)),
        ]
    )
    rows = [[str(job.number), output.state_text(job.state), "waited for it"] for job in view.jobs]
    rows += [[str(job.number), output.state_text(job.state), f"tells webhook {job.webhook}"] for job in view.deliveries]
    if rows:
        output.put()
        output.show_table(["job", "state", "why"], rows)
    else:
        output.put("no job waited for it")
    if view.more:
        say("there are more; these are the first")


events = group_of(
    "events",
    """Look at events: what happened, and what it triggered.

    Without a word behind it, `ls` is meant, with its options.

    \b
    Examples:
      holdfast events
      holdfast events --name 'git:*' --follow
    """,
    {"ls": list_, "show": show},
    usual="ls",
)


def _follow(hf: Client, name: str | None, limit: int) -> Iterator[EventView]:
    """Print the newest events, oldest first, and then each new one."""
    told = threading.Event()
    leave = hf.engine.listen(lambda changes: told.set())
    try:
        seen = hf.events(name, limit=limit).events
        yield from reversed(seen)
        newest = seen[0].event.number if seen else 0
        while True:
            told.wait(LOOK_S)
            told.clear()
            fresh = _newer(hf, name, newest)
            yield from reversed(fresh)
            newest = fresh[0].event.number if fresh else newest
    finally:
        leave()


def _newer(hf: Client, name: str | None, number: int) -> list[EventView]:
    """The events that came after this one, newest first."""
    found: list[EventView] = []
    cursor = None
    while True:
        page = hf.events(name, limit=PAGE, cursor=cursor)
        fresh = [view for view in page.events if view.event.number > number]
        found += fresh
        cursor = page.cursor
        if cursor is None or len(fresh) < len(page.events):
            return found


def _tell(hf: Client, view: EventView, *, json: bool) -> None:
    if json:
        output.put_json(view)
        return
    trigger = Coloured(jobs_shown.triggered(view.event.trigger, hf), DIM)
    parts = [part for part in (view.event.name, _attributes(view), trigger, _reached(view)) if part]
    output.put(times.local(view.event.emitted_at), *chain.from_iterable(("  ", part) for part in parts), flush=True)


def _attributes(view: EventView) -> str:
    return " ".join(f"{name}={value}" for name, value in sorted(view.event.attributes.items()))


def _data(data: Any) -> str:
    """The data as JSON. What looks secret is hidden."""
    from holdfast.observe.redact import redacted_json

    return redacted_json(dumps(data, ensure_ascii=False))


def _reached(view: EventView) -> str:
    numbers = [str(job.number) for job in view.jobs]
    said = []
    if numbers:
        more = len(numbers) > MOST_SHOWN or view.more
        said.append(f"job{'s' if len(numbers) > 1 else ''} {', '.join(numbers[:MOST_SHOWN])}{' …' if more else ''}")
    if view.deliveries:
        said.append(f"{len(view.deliveries)} webhook{'s' if len(view.deliveries) > 1 else ''}")
    return ", ".join(said)


def _jobs(count: int) -> str:
    return {0: "no job", 1: "one job"}.get(count, f"{count} jobs")
