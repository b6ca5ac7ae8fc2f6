"""`holdfast workspace`: programs with homes, which live long."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from holdfast.cli.frame import completion, output, times
from holdfast.cli.frame.clients import client
from holdfast.cli.frame.command import group_of
from holdfast.cli.frame.failures import CommandEnded
from holdfast.cli.frame.options import PatienceOption, YesOption
from holdfast.cli.frame.output import Output
from holdfast.cli.frame.words import Argument, Option
from holdfast.cli.workspaces import inside, workspace_shown
from holdfast.core.errors import InvalidInput
from holdfast.core.rules import limits

if TYPE_CHECKING:
    from holdfast.core.messages.workspaces import WorkspaceView

WorkspaceArgument = Annotated[
    str, Argument("WORKSPACE", help="A workspace's name or id.", complete=completion.named_workspaces)
]
WaitOption = Annotated[bool, Option("--wait", "-w", help="Wait until it is done; usual on a terminal.")]
StandbyOption = Annotated[
    str | None, Option("--standby-ttl", metavar="TIME", help="If nobody uses it, stop it after this; 0: never.")
]
ArchiveOption = Annotated[
    str | None, Option("--archive-ttl", metavar="TIME", help="If it is stopped, archive it after this; 0: never.")
]
NoWaitOption = Annotated[bool, Option("--no-wait", help="Do not wait.")]


def create(
    name: Annotated[str, Argument("NAME", help="Its name, as hosts have them: small letters, digits and -.")],
    command: Annotated[list[str], Argument("-- COMMAND [ARG]...", help="The program that runs in it.")],
    env: Annotated[
        list[str] | None, Option("--env", metavar="NAME=VALUE", help="A variable of its program. Repeatable.")
    ] = None,
    description: Annotated[str | None, Option("--description", metavar="TEXT", help="What it is for.")] = None,
    stopped: Annotated[bool, Option("--stopped", help="Make its home, and do not start its program yet.")] = False,
    standby_ttl: StandbyOption = None,
    archive_ttl: ArchiveOption = None,
    wait: WaitOption = False,
    no_wait: NoWaitOption = False,
    timeout: PatienceOption = None,
) -> Output:
    """Make a workspace: a program that is kept running, and a home folder that is kept.

    `{port}` in the command becomes a free port, which is PORT in its environment too. If nobody
    uses it for `--standby-ttl` (5 minutes) it is stopped; `start` brings it back.

    \b
    Examples:
      holdfast workspace create dev -- python3 -m http.server {port} --bind 127.0.0.1
      holdfast workspace create box --env LEVEL=3 --stopped -- ./serve.sh
    """
    ttls = _ttls(standby_ttl, archive_ttl)
    desired = "STANDBY" if stopped else "RUNNING"
    patience = _patience(wait, no_wait, timeout)
    made = client().create_workspace(
        name, command=command, env=_variables(env), desired=desired, description=description, **ttls
    )
    if patience is False:
        return Output(lambda: made.info, f"workspace {made.name} is made; see: holdfast workspace show {made.name}")
    return _told(made.wait(desired, timeout=None if patience is True else patience))


def list_() -> Output:
    """List the workspaces.

    \b
    Examples:
      holdfast workspace ls
    """
    found = client().workspaces()
    none = ["there are no workspaces; make one: holdfast workspace create NAME -- COMMAND"]
    return output.listed(found, workspace_shown.HEAD, map(workspace_shown.row, found), none=none)


def show(workspace: WorkspaceArgument) -> Output:
    """Show a workspace: what it is and shall be, what was seen of it, and what comes next.

    \b
    Examples:
      holdfast workspace show dev
    """
    view = client().workspace(workspace).info
    return Output(view, lambda: workspace_shown.show(view))


def start(
    workspace: WorkspaceArgument,
    wait: WaitOption = False,
    no_wait: NoWaitOption = False,
    timeout: PatienceOption = None,
) -> Output:
    """Have its program run.

    \b
    Examples:
      holdfast workspace start dev --wait
    """
    return _told(client().workspace(workspace).start(wait=_patience(wait, no_wait, timeout)))


def stop(
    workspace: WorkspaceArgument,
    wait: WaitOption = False,
    no_wait: NoWaitOption = False,
    timeout: PatienceOption = None,
) -> Output:
    """Have its program stopped. Its home stays.

    \b
    Examples:
      holdfast workspace stop dev --wait
    """
    return _told(client().workspace(workspace).stop(wait=_patience(wait, no_wait, timeout)))


def archive(
    workspace: WorkspaceArgument,
    wait: WaitOption = False,
    no_wait: NoWaitOption = False,
    timeout: PatienceOption = None,
) -> Output:
    """Have its home moved into the archive. Its program is stopped first, and `start` brings both back.

    \b
    Examples:
      holdfast workspace archive dev --wait
    """
    return _told(client().workspace(workspace).archive(wait=_patience(wait, no_wait, timeout)))


def delete(
    workspace: WorkspaceArgument,
    yes: YesOption = False,
    wait: WaitOption = False,
    no_wait: NoWaitOption = False,
    timeout: PatienceOption = None,
) -> Output:
    """Delete a workspace with its home. That cannot be taken back.

    \b
    Examples:
      holdfast workspace delete dev --yes --wait
    """
    from holdfast.cli.frame.confirm import agree

    handle = client().workspace(workspace)
    patience = _patience(wait, no_wait, timeout)
    agree(f"Delete workspace {handle.name} with its home, and all that is in it?", yes=yes)
    view = handle.delete(wait=patience)
    return Output(view, f"workspace {view.name} is {'being deleted' if patience is False else 'deleted'}")


def recover(
    workspace: WorkspaceArgument,
    empty: Annotated[bool, Option("--empty", help="What it had is gone: give it a new, empty home.")] = False,
    from_archive: Annotated[bool, Option("--from-archive", help="What it had is gone: try its archive.")] = False,
    wait: WaitOption = False,
    no_wait: NoWaitOption = False,
    timeout: PatienceOption = None,
) -> Output:
    """Let a workspace in ERROR go on.

    \b
    Examples:
      holdfast workspace recover dev
      holdfast workspace recover dev --empty
      holdfast workspace recover dev --from-archive
    """
    handle = client().workspace(workspace)
    patience = _patience(wait, no_wait, timeout)
    view = handle.recover(empty=empty, from_archive=from_archive)
    if patience is False:
        return Output(view, f"workspace {view.name} goes on; see: holdfast workspace show {view.name}")
    return _told(handle.wait(view.desired_state, timeout=None if patience is True else patience))


def touch(workspace: WorkspaceArgument) -> Output:
    """Say that somebody uses a workspace, so that it does not come to rest for a while.

    \b
    Examples:
      holdfast workspace touch dev
    """
    return _told(client().workspace(workspace).touch())


def set_(
    workspace: WorkspaceArgument,
    command: Annotated[
        list[str] | None, Argument("[-- COMMAND [ARG]...]", help="What runs in it from the next start on.")
    ] = None,
    name: Annotated[str | None, Option("--name", metavar="NAME", help="Another name.")] = None,
    description: Annotated[str | None, Option("--description", metavar="TEXT", help="What it is for.")] = None,
    memo: Annotated[str | None, Option("--memo", metavar="TEXT", help="A note.")] = None,
    env: Annotated[
        list[str] | None, Option("--env", metavar="NAME=VALUE", help="All variables of its program. Repeatable.")
    ] = None,
    standby_ttl: StandbyOption = None,
    archive_ttl: ArchiveOption = None,
) -> Output:
    """Change a workspace. A new command begins with the next start.

    \b
    Examples:
      holdfast workspace set dev --standby-ttl 10m --archive-ttl 0
    """
    view = (
        client()
        .workspace(workspace)
        .set(
            name=name,
            description=description,
            memo=memo,
            command=command,
            env=None if env is None else _variables(env),
            **_ttls(standby_ttl, archive_ttl),
        )
    )
    return Output(view, workspace_shown.line(view))


def logs(
    workspace: WorkspaceArgument,
    lines: Annotated[
        int, Option("--lines", "-n", metavar="N", field="lines", help="How many of the last lines; 0: all.")
    ] = 100,
    follow: Annotated[bool, Option("--follow", "-f", help="Go on until Ctrl-C.")] = False,
) -> None:
    """Print what the program of a workspace has printed. Only on its machine.

    \b
    Examples:
      holdfast workspace logs dev
      holdfast workspace logs dev -f
    """
    inside.print_log(_here(workspace), lines, follow=follow)


def shell(
    workspace: WorkspaceArgument,
    command: Annotated[
        list[str] | None, Argument("[-- COMMAND [ARG]...]", help="What to run instead of a shell.")
    ] = None,
) -> None:
    """Open a shell in the home of a workspace, or run a command there. Only on its machine.

    It ends with the exit code of the command.

    \b
    Examples:
      holdfast workspace shell dev
      holdfast workspace shell dev -- sh -c 'echo hello > note'
    """
    view = _here(workspace)
    code = inside.run(view, command or [], client().workspace(view.id).touch)
    if code:
        raise CommandEnded(code)


def changes(workspace: WorkspaceArgument) -> Output:
    """List who wanted what of a workspace, and when; newest first.

    \b
    Examples:
      holdfast workspace changes dev
    """
    found = client().workspace(workspace).changes()
    return output.listed(found, workspace_shown.CHANGES_HEAD, map(workspace_shown.change_row, found))


workspace = group_of(
    "workspace",
    """Look after workspaces: programs with homes, which live long.

    Without a word behind it, `ls` is meant.

    \b
    Examples:
      holdfast workspace
    """,
    {
        "create": create,
        "ls": list_,
        "show": show,
        "start": start,
        "stop": stop,
        "archive": archive,
        "delete": delete,
        "recover": recover,
        "set": set_,
        "touch": touch,
        "logs": logs,
        "shell": shell,
        "changes": changes,
    },
    usual="ls",
)


def _patience(wait: bool, no_wait: bool, timeout: str | None) -> float | bool:
    """How long to wait, in seconds; True: for ever, False: not at all."""
    if no_wait and (wait or timeout is not None):
        raise InvalidInput("--no-wait contradicts --wait and --timeout; give one of them")
    limit = times.seconds("timeout", timeout)
    if limit is not None:
        return limit
    return wait or (output.is_terminal() and not no_wait)


def _variables(given: list[str] | None) -> dict[str, str]:
    found = {}
    for text in given or ():
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise InvalidInput(f"--env {limits.shown(text)} is not a variable: write NAME=VALUE")
        found[name] = value
    return found


def _ttls(standby: str | None, archive: str | None) -> dict[str, float]:
    """The TTLs that were given, in seconds."""
    said = (("standby_ttl", standby), ("archive_ttl", archive))
    found = ((name, times.seconds(name.replace("_", "-"), text)) for name, text in said)
    return {name: seconds for name, seconds in found if seconds is not None}


def _told(view: WorkspaceView) -> Output:
    return Output(view, workspace_shown.line(view))


def _here(ref: str) -> WorkspaceView:
    """The workspace, if it is on this machine."""
    hf = client()
    view = hf.workspace(ref).info
    if view.node != hf.engine.node:
        raise InvalidInput(f"workspace {view.name!r} is on machine {view.node_name!r}; call this there")
    return view
