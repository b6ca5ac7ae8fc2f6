"""`holdfast run`: queue a command."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from holdfast.cli.frame import times
from holdfast.cli.frame.clients import command_client
from holdfast.cli.frame.failures import FAILED, INTERRUPTED, CommandEnded, say
from holdfast.cli.frame.output import Output
from holdfast.cli.frame.words import Argument, Option
from holdfast.cli.jobs import job_options
from holdfast.cli.jobs.job_options import PLACE, OptionWords
from holdfast.core.declared.option import SaidIn
from holdfast.core.errors import Elsewhere, InvalidInput
from holdfast.core.job import Done
from holdfast.core.jobs.stored_job import Job
from holdfast.core.rules import limits

if TYPE_CHECKING:
    from holdfast.client.resources.handle import JobHandle


def run(
    command: Annotated[list[str], Argument("-- COMMAND [ARG]...", help="The command.", is_rest=True)],
    cwd: Annotated[str, Option(metavar="DIR", help="The folder it starts in; by default this one.")] = ".",
    memory: Annotated[
        int | None, Option(metavar="MIB", field="memory_mb", help="How much memory each of its processes may have.")
    ] = None,
    cpu: Annotated[
        int | None, Option(metavar="SECONDS", field="cpu_s", help="How much CPU time each of its processes may use.")
    ] = None,
    grace: Annotated[
        str | None, Option(metavar="TIME", help="How long it has to end after SIGTERM, before SIGKILL.")
    ] = None,
    wait: Annotated[
        bool, Option("--wait", "-w", help="Stream its output, and end with its exit code. Ctrl-C lets it go on.")
    ] = False,
    *,
    json: bool,
    **said: Annotated[Any, OptionWords(SaidIn.CALL, **PLACE)],
) -> Output:
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
    hf = command_client()
    here, node, anywhere = said.pop("here"), said.pop("node"), said.pop("anywhere")
    hf.wait_for_room(times.seconds("wait-for-room", said.pop("wait_for_room")))
    options = job_options.read_options(hf, said)
    grace_s = times.seconds("grace", grace, "grace_ms")
    # This asks the daemon, so it comes after all checks of the words.
    options["node"] = job_options.machine(hf, here, node, anywhere, is_usual_here=True)
    runs_here = hf.here == options["node"] or not (options["node"] or anywhere or hf.engine.is_shared)
    if runs_here and not options.keys() & {"after", "after_ended", "on_event", "group", "at", "delay"}:
        _check_folder(cwd)
    handle = hf.command(*command, cwd=cwd, memory_mb=memory, cpu=cpu, grace=grace_s, **options)
    return end_of(hf.job(handle.id), json=json) if wait else Output(lambda: handle.job, handle.number)


def _check_folder(cwd: str) -> None:
    """Refuse a folder that is not there, for a command that may start at once on this machine."""
    import os

    if not os.path.isdir(cwd):
        what = "is not a folder" if os.path.exists(cwd) else "does not exist"
        raise InvalidInput(f"--cwd {limits.shown(cwd)} {what}; make it first, or choose another folder to start in")


def end_of(handle: JobHandle[Any], *, json: bool) -> Output:
    """Print the output of a command, and end with its exit code."""
    from holdfast.cli.jobs.wait import say_state, wait_for

    number = handle.number
    try:
        if json:
            wait_for(handle)
        else:
            _stream_or_wait(handle)
    except KeyboardInterrupt:
        say("")
        say(f"job {number} goes on; its output: holdfast logs -f {number}   to stop it: holdfast cancel {number}")
        raise CommandEnded(INTERRUPTED) from None
    job = handle.job
    code = exit_code(handle, job)
    return Output(job, (lambda: say_state(job)) if code else (), code=code)


def _stream_or_wait(handle: JobHandle[Any]) -> None:
    from holdfast.cli.jobs.logs import stream
    from holdfast.cli.jobs.wait import wait_for

    try:
        stream(handle)
    except Elsewhere as error:
        # Its output cannot be read from here any more. How it ends is known all the same.
        say(f"holdfast: {error}")
        wait_for(handle)


def exit_code(handle: JobHandle[Any], job: Job) -> int:
    """The exit code of the command. 1 if it has none."""
    if isinstance(job.state, Done):
        return 0
    last = next((run.exit_code for run in reversed(handle.runs)), None)
    return last or FAILED
