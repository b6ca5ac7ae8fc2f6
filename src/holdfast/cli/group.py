"""`holdfast group`: jobs that belong together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from holdfast.cli.completion import named_groups
from holdfast.cli.options import HomeOption, JsonOption, YesOption, client
from holdfast.cli.output import paint, show_fields, show_json, show_table, state_text
from holdfast.cli.times import ago, when
from holdfast.cli.words import Argument, Option, group_of
from holdfast.core.errors import NotFound
from holdfast.core.limits import shown

if TYPE_CHECKING:
    from holdfast.client.remote import Client

PAGE = 200


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
    show_json(made.view().group) if json else print(made.id)


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
        view = hf.group(row.id).view()
        done = sum(state == "DONE" for state in view.members.values())
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
    view = hf.group(find_group(hf, group)).view()
    if json:
        show_json(view)
        return
    show_fields(
        [
            ("group", view.group.id),
            ("name", view.group.name),
            ("status", paint(state_text(view.status))),
            ("mode", f"{view.group.mode}, on failure: {view.group.on_failure}"),
            ("created", when(view.group.created_at)),
        ]
    )
    if view.members:
        print()
        jobs = [hf.job(job_id).job for job_id in view.members]
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
    from holdfast.core.job import TERMINAL

    hf = client(home)
    handle = hf.group(find_group(hf, group))
    live = sum(state not in TERMINAL for state in handle.view().members.values())
    confirm("Cancel", live, yes=yes)
    done = handle.cancel()
    if json:
        show_json(done)
    else:
        print(f"{done.cancelled} cancelled, {done.requested} asked to stop")


group = group_of(
    "group",
    "Make and look at groups: jobs that belong together.",
    {"create": create, "ls": list_, "show": show, "cancel": cancel},
)


def find_group(hf: Client, ref: str) -> str:
    """The id of a group by its id or its name; of several with one name, the newest."""
    cursor = None
    while True:
        page = hf.groups(limit=PAGE, cursor=cursor)
        for row in page.groups:
            if ref in (row.id, row.name):
                return row.id
        cursor = page.cursor
        if cursor is None:
            raise NotFound(f"there is no group {shown(ref)}; make it with: holdfast group create {ref}")
