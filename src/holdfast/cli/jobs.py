"""Jobs: enqueue, ls, show, why, wait, cancel, retry, move."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import msgspec
import typer

from holdfast.cli.options import HomeOption, JsonOption, client
from holdfast.cli.output import ago, is_interactive, moment, show_json, show_table
from holdfast.core.errors import InvalidInput, JobError
from holdfast.core.gates import Closed, Open
from holdfast.core.job import Job, StateName

JobArgument = Annotated[str, typer.Argument(metavar="JOB", help="A job's number or id.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    for command in (enqueue, ls, show, why, wait, cancel, retry, move):
        app.command(help=command.__doc__)(command)


def enqueue(
    task: Annotated[str, typer.Argument(help="The task's name.")],
    payload: Annotated[str, typer.Argument(help="Its arguments as a JSON object.")] = "{}",
    queue: Annotated[str, typer.Option(help="Which queue.")] = "default",
    priority: Annotated[int, typer.Option(help="Higher runs first.")] = 0,
    delay: Annotated[float | None, typer.Option(help="Seconds to wait first.")] = None,
    retries: Annotated[int, typer.Option(help="Tries after the first one.")] = 0,
    timeout: Annotated[float | None, typer.Option(help="Seconds one run may take.")] = None,
    tag: Annotated[str | None, typer.Option(help="A word to find it by.")] = None,
    subject: Annotated[str | None, typer.Option(help="What it is about; newer jobs supersede older ones.")] = None,
    wait: Annotated[bool, typer.Option("--wait", help="Wait for the result and print it.")] = False,
    home: HomeOption = None,
    json: JsonOption = False,
) -> None:
    """Store a job of any task. Example: holdfast enqueue index_file '{"path": "a.py"}' --wait"""
    hf = client(home)
    options = {"queue": queue, "priority": priority, "delay": delay, "retry": retries, "timeout": timeout}
    handle = hf.enqueue(task, _object(payload), tag=tag, subject=subject, **options)
    if wait:
        _print_result(handle, json)
    elif json:
        show_json(handle.job)
    else:
        print(handle.job.number)


def _object(text: str) -> dict[str, Any]:
    try:
        value = msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        raise InvalidInput(f"the payload {text!r} is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise InvalidInput(f"the payload {text!r} is not a JSON object; write the arguments by name")
    return value


def ls(
    state: Annotated[list[str] | None, typer.Option("--state", "-s", help="Only these states. Repeatable.")] = None,
    queue: Annotated[str | None, typer.Option(help="Only this queue.")] = None,
    task: Annotated[str | None, typer.Option(help="Only this task.")] = None,
    tag: Annotated[str | None, typer.Option(help="Only this tag.")] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", help="How many.")] = 20,
    home: HomeOption = None,
    json: JsonOption = False,
) -> None:
    """List jobs, newest first. Example: holdfast ls --state FAILED"""
    wanted = [name.upper() for name in state or ()] or None
    page = client(home).jobs(state=wanted, queue=queue, task=task, tag=tag, limit=limit)
    if json:
        show_json(page)
    else:
        show_table(["job", "task", "queue", "state", "attempt", "created", "reason"], [_row(job) for job in page.jobs])


def _row(job: Job) -> list[str]:
    reason = getattr(job.state, "reason", None) or ""
    return [str(job.number), job.task, job.queue, job.state.name, str(job.attempts), ago(job.created_at), reason]


def show(job: JobArgument, home: HomeOption = None, json: JsonOption = False) -> None:
    """One job with its runs. Example: holdfast show 42"""
    handle = client(home).job(job)
    found, runs = handle.job, handle.runs
    if json:
        show_json({"job": found, "runs": runs})
        return
    for name, value in (
        ("job", f"{found.number} ({found.id})"),
        ("task", found.task),
        ("queue", found.queue),
        ("state", f"{found.state.name} {getattr(found.state, 'reason', None) or ''}".strip()),
        ("created", moment(found.created_at)),
        ("payload", found.payload),
        ("subject", found.subject and f"{found.subject} generation {found.generation}"),
        ("tag", found.tag),
        ("progress", found.progress is not None and f"{found.progress:.0%} {found.progress_text or ''}"),
    ):
        if value:
            print(f"{name:10}{value}")
    if runs:
        print()
        show_table(
            ["run", "status", "started", "ms", "error"],
            [
                [
                    str(run.attempt),
                    run.status or "open",
                    moment(run.started_at),
                    str(run.duration_ms or ""),
                    run.error or "",
                ]
                for run in runs
            ],
        )


def why(job: JobArgument, home: HomeOption = None, json: JsonOption = False) -> None:
    """Why a job does not run yet. Example: holdfast why 42"""
    said = client(home).job(job).why()
    if json:
        show_json(said)
        return
    print(said)
    for gate in said.gates:
        match gate:
            case Closed():
                print(f"  closed  {gate.gate}: {gate.now}; needs {gate.needs}")
            case Open():
                print(f"  open    {gate.gate}")


def wait(
    job: JobArgument,
    timeout: Annotated[float | None, typer.Option(help="Seconds to wait at most.")] = None,
    home: HomeOption = None,
    json: JsonOption = False,
) -> None:
    """Wait until a job has ended; exit code 1 unless it is done. Example: holdfast wait 42"""
    handle = client(home).job(job)
    state = handle.wait(timeout)
    _print_result(handle, json) if json else print(state)
    if state is not StateName.DONE:
        sys.exit(1)


def _print_result(handle: Any, json: bool) -> None:
    try:
        show_json(handle.result())
    except JobError as error:
        print(f"holdfast: {error}", file=sys.stderr)
        sys.exit(1)


def cancel(
    job: Annotated[str | None, typer.Argument(metavar="JOB", help="A job's number or id.")] = None,
    tag: Annotated[str | None, typer.Option(help="Every job with this tag instead.")] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    home: HomeOption = None,
    json: JsonOption = False,
) -> None:
    """Cancel a job, or all with a tag. Example: holdfast cancel 42"""
    hf = client(home)
    if (job is None) == (tag is None):
        raise InvalidInput("name a job, or give --tag")
    if tag is not None:
        count = hf.bulk("cancel", dry_run=True, tag=tag).jobs
        if not yes and is_interactive() and not typer.confirm(f"Cancel {count} jobs?"):
            sys.exit(1)
        done = hf.cancel(tag=tag)
    else:
        done = hf.job(job or "").cancel()
    if json:
        show_json(done)
    else:
        print(f"{done.cancelled} cancelled, {done.requested} asked to stop, {done.ended} had ended")


def retry(
    job: JobArgument,
    priority: Annotated[int | None, typer.Option(help="Another priority.")] = None,
    home: HomeOption = None,
    json: JsonOption = False,
) -> None:
    """Run a job again as a new one. Example: holdfast retry 42"""
    again = client(home).job(job).retry(priority)
    show_json(again.job) if json else print(again.job.number)


def move(
    job: JobArgument,
    where: Annotated[str, typer.Argument(help="top, bottom, before or after.")],
    other: Annotated[str | None, typer.Argument(help="The other job, for before and after.")] = None,
    home: HomeOption = None,
) -> None:
    """Change a waiting job's place. Example: holdfast move 42 before 17"""
    hf = client(home)
    if where in ("before", "after") and other is not None:
        hf.job(job).move((where, hf.job(other)))  # type: ignore[arg-type]
    else:
        hf.job(job).move(where)  # type: ignore[arg-type]
