"""`holdfast group`: jobs that belong together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from holdfast.cli.frame import completion, given, output, times
from holdfast.cli.frame.clients import client
from holdfast.cli.frame.command import group_of
from holdfast.cli.frame.options import LimitOption, PatienceOption, YesOption
from holdfast.cli.frame.output import Output
from holdfast.cli.frame.words import Argument, Option
from holdfast.client.waiting import Countdown
from holdfast.core.errors import StillRunning
from holdfast.core.job import TERMINAL, StateName
from holdfast.core.values.group import GroupStatus

if TYPE_CHECKING:
    from holdfast.client.remote import Client
    from holdfast.client.resources.group_handle import GroupHandle
    from holdfast.core.messages.groups import GroupView

LOOK_S = 1.0
HEAD = ("group", "name", "mode", "status", "done", "created")

GroupArgument = Annotated[str, Argument("GROUP", help="A group's id or name.", complete=completion.named_groups)]


def create(
    name: Annotated[str | None, Argument("[NAME]", help="A name for it.")] = None,
    sequential: Annotated[bool, Option("--sequential", help="Run its jobs one after the other.")] = False,
    on_failure: Annotated[
        str, Option(metavar="stop|continue|skip", help="What happens behind a member that fails.")
    ] = "stop",
) -> Output:
    """Make a group, and print its id.

    Jobs join it with run --group and enqueue --group.

    \b
    Examples:
      holdfast group create release --sequential
      holdfast run --group release -- make test
    """
    mode = "sequential" if sequential else "parallel"
    made = client().create_group(name, mode=mode, on_failure=on_failure)
    return Output(lambda: made.view().group, made.id)


def list_(limit: LimitOption = 20) -> Output:
    """List groups, newest first.

    \b
    Examples:
      holdfast group ls
    """
    hf = client()
    page = hf.groups(limit=limit)
    return output.listed(page, HEAD, (_row(hf.find_group(group.id).view()) for group in page.groups))


def _row(view: GroupView) -> list[str]:
    group, done = view.group, view.counts.get(StateName.DONE, 0)
    return [
        group.id,
        group.name or "",
        group.mode,
        output.state_text(view.status),
        f"{done} of {len(view.members)}",
        times.ago(group.created_at),
    ]


def show(group: GroupArgument) -> Output:
    """Show a group and its jobs.

    \b
    Examples:
      holdfast group show release
    """
    hf = client()
    handle = given.find_group(hf, group)
    view = handle.view()
    return Output(view, lambda: _show(hf, handle, view))


def _show(hf: Client, handle: GroupHandle, view: GroupView) -> None:
    from holdfast.cli.frame.jobs_shown import detail, numbered, what

    is_sequential = view.group.mode == "sequential"
    output.show_fields(
        [
            ("group", view.group.id),
            ("name", view.group.name),
            ("status", output.state_text(view.status)),
            ("progress", _progress(view)),
            ("mode", view.group.mode + (f", on failure: {view.group.on_failure}" if is_sequential else "")),
            ("created", times.when(view.group.created_at)),
        ]
    )
    if view.members:
        output.put()
        jobs = handle.members()
        output.show_table(
            ["job", "state", "what", "detail"],
            [
                [str(job.number), output.state_text(job.state.name), what(job), numbered(detail(job), hf)]
                for job in jobs
            ],
        )


def cancel(group: GroupArgument, yes: YesOption = False) -> Output:
    """Cancel every job of a group that has not ended.

    \b
    Examples:
      holdfast group cancel release
    """
    from holdfast.cli.frame.confirm import confirm

    hf = client()
    handle = given.find_group(hf, group)
    live = sum(state not in TERMINAL for state in handle.view().members.values())
    confirm("Cancel", live, yes=yes)
    done = handle.cancel()
    return Output(done, f"{done.cancelled} cancelled, {done.requested} asked to stop")


def retry(
    group: GroupArgument,
    rest: Annotated[
        bool, Option("--rest", help="Only those that were cancelled because one before them failed.")
    ] = False,
    yes: YesOption = False,
) -> Output:
    """Make every job of a group anew that has ended without being done.

    They stay in the group, in their order, and take the places of the old ones. A sequential group must have ended.
    With --rest those come back that were cancelled for another one's failure, behind the jobs that still go on.

    \b
    Examples:
      holdfast group retry release
      holdfast retry 42 && holdfast group retry release --rest
    """
    from holdfast.cli.frame.confirm import confirm
    from holdfast.core.values.group import STAYS

    hf = client()
    handle = given.find_group(hf, group)
    if not rest:
        again = sum(state in TERMINAL and state not in STAYS for state in handle.view().members.values())
        confirm("Retry", again, yes=yes)
    made = handle.retry(rest=rest)
    return Output([job.id for job in made], f"{len(made)} made anew" if made else "nothing to retry")


def wait(group: GroupArgument, timeout: PatienceOption = None) -> Output:
    """Wait until every job of a group has ended.

    The exit code is 0 if all are done, and 1 otherwise.

    \b
    Examples:
      holdfast group wait release --timeout 1h && echo released
    """
    from holdfast.cli.frame.failures import FAILED
    from holdfast.cli.frame.progress import ProgressBar
    from holdfast.cli.frame.times import seconds

    handle = given.find_group(client(), group)
    left = Countdown(seconds("timeout", timeout))
    with ProgressBar(f"waiting for {group}") as shown_progress:
        while True:
            try:
                handle.wait(min(LOOK_S, left.seconds()))
                break
            except StillRunning:
                if left.seconds() == 0:
                    raise
                shown_progress.at(handle.view().progress, 1)
    view = handle.view()
    code = 0 if view.status is GroupStatus.COMPLETED else FAILED
    return Output(view, lambda: output.put(output.state_text(view.status), f"  {_progress(view)}"), code=code)


def _progress(view: GroupView) -> str:
    counted = ", ".join(f"{count} {state.lower()}" for state, count in sorted(view.counts.items()))
    return f"▕{output.bar(view.progress)}▏{view.progress:4.0%} {counted}".rstrip()


group = group_of(
    "group",
    "Make and look at groups: jobs that belong together.",
    {"create": create, "ls": list_, "show": show, "wait": wait, "cancel": cancel, "retry": retry},
)
