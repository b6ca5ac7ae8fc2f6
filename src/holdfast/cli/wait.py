"""`holdfast wait`: until jobs have ended."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from holdfast.cli.completion import jobs
from holdfast.cli.failing import FAILED, Ended, say
from holdfast.cli.jobs_shown import detail
from holdfast.cli.options import HomeOption, JsonOption, client
from holdfast.cli.output import clean, paint, show_json, state_text
from holdfast.cli.times import seconds
from holdfast.cli.words import Argument, Option
from holdfast.core.job import Done, Job

if TYPE_CHECKING:
    from holdfast.client.handle import JobHandle


def wait(
    jobs: Annotated[list[str], Argument("JOB...", help="Numbers or ids of jobs.", complete=jobs)],
    timeout: Annotated[str | None, Option(metavar="TIME", help="How long to wait at most: 90s, 2h.")] = None,
    home: HomeOption = None,
    json: JsonOption = False,
) -> None:
    """Wait until jobs have ended.

    The exit code is 0 if all are done, and 1 otherwise.

    \b
    Examples:
      holdfast wait 42 && echo done
      holdfast wait 42 43 44 --timeout 10m
    """
    import time

    hf = client(home)
    handles = [hf.job(job) for job in jobs]
    limit = seconds("timeout", timeout)
    until = None if limit is None else time.monotonic() + limit
    ended = []
    for handle in handles:
        handle.wait(None if until is None else max(0.0, until - time.monotonic()))
        ended.append(handle.job)
        if not json:
            _tell(ended[-1], is_alone=len(handles) == 1)
    if json:
        show_json(ended)
    if not all(isinstance(job.state, Done) for job in ended):
        raise Ended(FAILED)


def _tell(job: Job, *, is_alone: bool) -> None:
    said = detail(job)
    number = "" if is_alone else f"{job.number} "
    print(f"{number}{paint(state_text(job.state.name))}{f'  {clean(said)}' if said else ''}", flush=True)


def print_result(handle: JobHandle[Any], *, json: bool) -> None:
    """Wait for what a job returned and print it; ends the command if it has no result."""
    handle.wait()
    job = handle.job
    if json:
        show_json(job)
    elif isinstance(job.state, Done):
        import msgspec

        show_json(msgspec.json.decode(job.state.result_summary or "null"))
    else:
        said = detail(job)
        say(f"holdfast: job {job.number} is {job.state.name}{f': {clean(said)}' if said else ''}")
    if not isinstance(job.state, Done):
        raise Ended(FAILED)
