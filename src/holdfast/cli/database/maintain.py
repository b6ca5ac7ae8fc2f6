"""`holdfast maintain`: what the database needs now and then, and having it done."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import msgspec

from holdfast.cli.frame import output, times
from holdfast.cli.frame.clients import client
from holdfast.cli.frame.failures import FAILED, CommandEnded, say
from holdfast.cli.frame.output import Output
from holdfast.cli.frame.words import Argument, Option
from holdfast.cli.jobs.wait import wait_for
from holdfast.core.job import Done
from holdfast.core.machine.maintenance import EVERY_CHORE, MAINTENANCE, Chore

if TYPE_CHECKING:
    from holdfast.core.jobs.stored_job import Job
    from holdfast.core.messages.maintenance import ChoreView

HEAD = ("chore", "what it does", "last", "it did", "next")
BYTES = "_bytes"


def _chores(incomplete: str) -> list[str]:
    return [name for name in (*Chore, EVERY_CHORE) if name.startswith(incomplete)]


def maintain(
    chore: Annotated[
        str | None, Argument("[CHORE]", help="Which one; all of them but the vacuum: all.", complete=_chores)
    ] = None,
    wait: Annotated[bool, Option("--wait", "-w", help="Wait until it is done.")] = False,
    *,
    json: bool,
) -> Output | None:
    """List the chores of the database, or have one done now.

    They are done by themselves when they are due. Each is a job of the queue holdfast.maintenance, and gives way to all
    others.

    \b
    Chores:
      retention           events        letters   machines  tenants
      files               positions     analyze   checkpoint  tasks
      telemetry
      incremental-vacuum  vacuum        all: every one but the vacuum

    \b
    Examples:
      holdfast maintain
      holdfast maintain retention --wait
      holdfast maintain vacuum
    """
    hf = client()
    if chore is None:
        found = hf.maintenance()
        return output.listed(found, HEAD, map(_row, found))
    handles = hf.maintain(chore)
    is_paused = hf.queue(MAINTENANCE).paused_at is not None
    if is_paused:
        say(f"queue {MAINTENANCE} is paused, so this waits; to go on: holdfast resume {MAINTENANCE}")
    for handle in handles if wait else []:
        wait_for(handle, hf=hf)
    jobs = [handle.job for handle in handles]
    Output(jobs, (f"job {job.number}: {job.task}, {_said(job)}" for job in jobs)).put(json=json)
    if not wait and not is_paused:
        say(f"the daemon does it in between; see holdfast ls --all --queue {MAINTENANCE}")
    if wait and not all(isinstance(job.state, Done) for job in jobs):
        raise CommandEnded(FAILED)
    return None


def _row(one: ChoreView) -> list[str]:
    last = one.last
    return [
        one.chore,
        one.says,
        "" if last is None else times.ago(last.created_at),
        "" if last is None else _said(last),
        "" if one.due_at is None else times.ago(one.due_at),
    ]


def _said(job: Job) -> str:
    """How a chore ended, and what it did."""
    if not isinstance(job.state, Done) or job.state.result_summary is None:
        return str(job.state.name)
    did = msgspec.json.decode(job.state.result_summary, type=dict[str, int])
    return ", ".join(
        f"{name.removesuffix(BYTES)} {output.size(count) if name.endswith(BYTES) else count}"
        for name, count in did.items()
    )
