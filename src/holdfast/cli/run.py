"""`holdfast run`: queue a command."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from holdfast.cli import job_options
from holdfast.cli.failing import FAILED, INTERRUPTED, Ended, say, speak_up
from holdfast.cli.jobs_shown import detail
from holdfast.cli.options import HomeOption, JsonOption, choose
from holdfast.cli.output import put, show_json
from holdfast.cli.times import seconds
from holdfast.cli.words import Argument, Option
from holdfast.core.errors import Elsewhere, InvalidInput
from holdfast.core.job import Done, Job
from holdfast.core.limits import shown

if TYPE_CHECKING:
    from holdfast.client.handle import JobHandle


def run(
    command: Annotated[list[str], Argument("-- COMMAND [ARG]...", help="The command.", is_rest=True)],
    queue: job_options.InQueue = None,
    priority: job_options.Priority = None,
    retries: job_options.Retries = None,
    timeout: job_options.Timeout = None,
    delay: job_options.Delay = None,
    at: job_options.At = None,
    ttl: job_options.Ttl = None,
    deadline: job_options.Deadline = None,
    tag: job_options.Tag = None,
    tenant: job_options.Tenant = None,
    subject: job_options.Subject = None,
    group: job_options.Group = None,
    after: job_options.After = None,
    after_ended: job_options.AfterEnded = None,
    when_idle: job_options.WhenIdle = False,
    when_charging: job_options.WhenCharging = False,
    tokens: job_options.TokensWord = None,
    here: job_options.Here = False,
    node: job_options.OnNode = None,
    anywhere: job_options.Anywhere = False,
    on_event: job_options.OnEvent = None,
    where: job_options.Where = None,
    wait_for_room: job_options.WaitForRoom = None,
    env: Annotated[
        list[str] | None,
        Option("--env", "-e", metavar="NAME=VALUE", help="A variable for it; NAME alone takes it from here."),
    ] = None,
    cwd: Annotated[str, Option(metavar="DIR", help="The folder it starts in; by default this one.")] = ".",
    memory: Annotated[
        int | None, Option(metavar="MIB", min=1, help="How much memory each of its processes may have.")
    ] = None,
    cpu: Annotated[
        int | None, Option(metavar="SECONDS", min=1, help="How much CPU time each of its processes may use.")
    ] = None,
    grace: Annotated[
        str | None, Option(metavar="TIME", help="How long it has to end after SIGTERM, before SIGKILL.")
    ] = None,
    wait: Annotated[
        bool, Option("--wait", "-w", help="Stream its output, and end with its exit code. Ctrl-C lets it go on.")
    ] = False,
    home: HomeOption = None,
    json: JsonOption = False,
) -> None:
    """Queue a command, and print the number of its job.

    There is no shell: each word is given as it is. On PostgreSQL it runs on this machine, unless you say otherwise.

    \b
    Examples:
      holdfast run -- make world
      holdfast run --wait --retries 3 -- ./deploy.sh staging
      holdfast run --at 02:00 --queue night -- sh -c 'du -s /home > usage.txt'
      holdfast run --anywhere -- convert in.png out.jpg
      holdfast run --when-idle --when-charging --on-event git:commit --where branch=main -- make world
    """
    from holdfast.cli.command_client import CommandClient

    choose(home)
    speak_up()
    hf = CommandClient()
    options = job_options.options(
        hf,
        queue=queue,
        priority=priority,
        retries=retries,
        timeout=timeout,
        delay=delay,
        at=at,
        ttl=ttl,
        deadline=deadline,
        tag=tag,
        tenant=tenant,
        subject=subject,
        group=group,
        after=after,
        after_ended=after_ended,
        when_idle=when_idle,
        when_charging=when_charging,
        tokens=tokens,
        on_event=on_event,
        where=where,
        wait_for_room=wait_for_room,
    )
    variables, grace_s = _variables(env), seconds("grace", grace)
    # The daemon is asked where it may run, so that comes after all that can be wrong with the words.
    options["node"] = job_options.machine(hf, here, node, anywhere, is_usual_here=True)
    runs_here = hf.here == options["node"] or not (options["node"] or anywhere or hf.engine.is_shared)
    if runs_here and not (after or after_ended or on_event or group or at or delay):
        _check_folder(cwd)
    handle = hf.command(*command, cwd=cwd, env=variables, memory_mb=memory, cpu=cpu, grace=grace_s, **options)
    if wait:
        wait_for_command(hf.job(handle.id), json=json)
    elif json:
        show_json(handle.job)
    else:
        put(handle.number)


def _check_folder(cwd: str) -> None:
    """Refuse a folder that is not there, for a command that may start at once on this machine."""
    import os

    if not os.path.isdir(cwd):
        what = "is not a folder" if os.path.exists(cwd) else "does not exist"
        raise InvalidInput(f"--cwd {shown(cwd)} {what}; make it first, or choose another folder to start in")


def _variables(given: list[str] | None) -> dict[str, str] | None:
    import os

    found = {}
    for text in given or ():
        name, is_set, value = text.partition("=")
        if not is_set and name not in os.environ:
            raise InvalidInput(f"--env {shown(text)}: there is no such variable here; write NAME=VALUE")
        found[name] = value if is_set else os.environ[name]
    return found or None


def wait_for_command(handle: JobHandle[Any], *, json: bool) -> None:
    """Stream what a command says, and end with its exit code."""
    from holdfast.cli.wait import wait_for

    number = handle.number
    try:
        if json:
            wait_for(handle)
        else:
            _stream_or_wait(handle)
    except KeyboardInterrupt:
        say("")
        say(f"job {number} goes on; its output: holdfast logs -f {number}   to stop it: holdfast cancel {number}")
        raise Ended(INTERRUPTED) from None
    job = handle.job
    if json:
        show_json(job)
    code = exit_code(handle, job)
    if code and not json:
        said = detail(job)
        say(f"holdfast: job {job.number} is {job.state.name}{f': {said}' if said else ''}")
    raise Ended(code)


def _stream_or_wait(handle: JobHandle[Any]) -> None:
    from holdfast.cli.logs import stream
    from holdfast.cli.wait import wait_for

    try:
        stream(handle)
    except Elsewhere as error:
        # What it says cannot be read from here any more; how it ends is known all the same.
        say(f"holdfast: {error}")
        wait_for(handle)


def exit_code(handle: JobHandle[Any], job: Job) -> int:
    """That of the command; 1 if it never had one."""
    if isinstance(job.state, Done):
        return 0
    last = next((run.exit_code for run in reversed(handle.runs)), None)
    return last or FAILED
