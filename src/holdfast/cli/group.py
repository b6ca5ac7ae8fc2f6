"""`holdfast group`: jobs that belong together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from holdfast.cli.completion import named_groups
from holdfast.cli.options import HomeOption, JsonOption, YesOption, client
from holdfast.cli.output import bar, put, show_fields, show_json, show_table, state_text
from holdfast.cli.times import ago, when
from holdfast.cli.words import Argument, Option, group_of
from holdfast.client.waiting import Countdown
from holdfast.core.errors import NotFound, StillRunning
from holdfast.core.group import GroupStatus
from holdfast.core.job import TERMINAL, StateName
from holdfast.core.limits import shown

if TYPE_CHECKING:
    from holdfast.client.group_handle import GroupHandle
    from holdfast.client.remote import Client
    from holdfast.store.scripts.groups import GroupView

LOOK_S = 1.0


GroupArgument = Annotated[str, Argument("GROUP", help="A group's id or name.", complete=named_groups)]


def create(
    name: Annotated[str | None, Argument("[NAME]", help="A name for it.")] = None,
    sequential: Annotated[bool, Option("--sequential", help="Run its jobs one after the other.")] = False,
    on_failure: Annotated[
        str, Option(metavar="stop|continue|skip", help="What happens behind a member that fails.")
    ] = "stop",
    home: HomeOption = None,
    json: JsonOption = False,
) -> None:
    """Make a group, and print its id.

    Jobs join it with run --group and enqueue --group.

    \b
    Examples:
      holdfast group create release --sequential
      holdfast run --group release -- make test
    """
    mode = "sequential" if sequential else "parallel"
    made = client(home).create_group(name, mode=mode, on_failure=on_failure)
    show_json(made.view().group) if json else put(made.id)


def list_(
    limit: Annotated[int, Option("--limit", "-n", metavar="N", min=1, max=1000, help="How many.")] = 20,
    home: HomeOption = None,
    json: JsonOption = False,
) -> None:
    """List groups, newest first.

    \b
    Examples:
      holdfast group ls
    """
    hf = client(home)
    page = hf.groups(limit=limit)
    if json:
        show_json(page)
        return
    rows = []
    for row in page.groups:
        view = hf.find_group(row.id).view()
        done = view.counts.get(StateName.DONE, 0)
        rows.append(
            [
                row.id,
                row.name or "",
                row.mode,
                state_text(view.status),
                f"{done} of {len(view.members)}",
                ago(row.created_at),
            ]
        )
    show_table(["group", "name", "mode", "status", "done", "created"], rows)


def show(group: GroupArgument, home: HomeOption = None, json: JsonOption = False) -> None:
    """Show a group and its jobs.

    \b
    Examples:
      holdfast group show release
    """
    from holdfast.cli.jobs_shown import detail, numbered, what

    hf = client(home)
    handle = find_group(hf, group)
    view = handle.view()
    if json:
        show_json(view)
        return
    is_sequential = view.group.mode == "sequential"
    show_fields(
        [
            ("group", view.group.id),
            ("name", view.group.name),
            ("status", state_text(view.status)),
            ("progress", _progress(view)),
            ("mode", view.group.mode + (f", on failure: {view.group.on_failure}" if is_sequential else "")),
            ("created", when(view.group.created_at)),
        ]
    )
    if view.members:
        put()
        jobs = handle.members()
        show_table(
            ["job", "state", "what", "detail"],
            [[str(job.number), state_text(job.state.name), what(job), numbered(detail(job), hf)] for job in jobs],
        )


def cancel(group: GroupArgument, yes: YesOption = False, home: HomeOption = None, json: JsonOption = False) -> None:
    """Cancel every job of a group that has not ended.

    \b
    Examples:
      holdfast group cancel release
    """
    from holdfast.cli.asking import confirm

    hf = client(home)
    handle = find_group(hf, group)
    live = sum(state not in TERMINAL for state in handle.view().members.values())
    confirm("Cancel", live, yes=yes)
    done = handle.cancel()
    if json:
        show_json(done)
    else:
        put(f"{done.cancelled} cancelled, {done.requested} asked to stop")


def retry(
    group: GroupArgument,
    rest: Annotated[
        bool, Option("--rest", help="Only those that were cancelled because one before them failed.")
    ] = False,
    yes: YesOption = False,
    home: HomeOption = None,
    json: JsonOption = False,
) -> None:
    """Make every job of a group anew that has ended without being done.

    They stay in the group, in their order, and take the places of the old ones. A sequential group must have ended.
    With --rest those come back that were cancelled for another one's failure, behind the jobs that still go on.

    \b
    Examples:
      holdfast group retry release
      holdfast retry 42 && holdfast group retry release --rest
    """
    from holdfast.cli.asking import confirm
    from holdfast.store.scripts.group_jobs import STAYS

    hf = client(home)
    handle = find_group(hf, group)
    if not rest:
        again = sum(state in TERMINAL and state not in STAYS for state in handle.view().members.values())
        confirm("Retry", again, yes=yes)
    made = handle.retry(rest=rest)
    if json:
        show_json([job.id for job in made])
    else:
        put(f"{len(made)} made anew" if made else "nothing to retry")


def wait(
    group: GroupArgument,
    timeout: Annotated[str | None, Option(metavar="TIME", help="How long to wait at most: 90s, 2h.")] = None,
    home: HomeOption = None,
    json: JsonOption = False,
) -> None:
    """Wait until every job of a group has ended.

    The exit code is 0 if all are done, and 1 otherwise.

    \b
    Examples:
      holdfast group wait release --timeout 1h && echo released
    """
    from holdfast.cli.failing import FAILED, Ended
    from holdfast.cli.progress import Progress
    from holdfast.cli.times import seconds

    handle = find_group(client(home), group)
    left = Countdown(seconds("timeout", timeout))
    with Progress(f"waiting for {group}") as shown_progress:
        while True:
            try:
                handle.wait(min(LOOK_S, left.seconds()))
                break
            except StillRunning:
                if left.seconds() == 0:
                    raise
                shown_progress.at(handle.view().progress, 1)
    view = handle.view()
    show_json(view) if json else put(state_text(view.status), f"  {_progress(view)}")
    if view.status is not GroupStatus.COMPLETED:
        raise Ended(FAILED)


def _progress(view: GroupView) -> str:
    counted = ", ".join(f"{count} {state.lower()}" for state, count in sorted(view.counts.items()))
    return f"▕{bar(view.progress)}▏{view.progress:4.0%} {counted}".rstrip()


group = group_of(
    "group",
    "Make and look at groups: jobs that belong together.",
    {"create": create, "ls": list_, "show": show, "wait": wait, "cancel": cancel, "retry": retry},
)


def find_group(hf: Client, ref: str) -> GroupHandle:
    """A group by its id or its name; of several with one name, the newest."""
    try:
        return hf.find_group(ref)
    except NotFound:
        raise NotFound(f"there is no group {shown(ref)}; make it with: holdfast group create {ref}") from None
