"""A client of a besieged daemon: it enqueues until the file `stop` is there, and notes every acknowledgement.

Each job carries a tag of its own, so that one that is stored twice shows.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

from holdfast import HoldfastError, JobHandle, StateName
from tests.chaos.journal import Journal
from tests.chaos.programs import siege_app as app
from tests.chaos.programs.happenings import Happenings

BACKLOG = 150
LIVE = (StateName.SCHEDULED, StateName.QUEUED, StateName.RUNNING)
COMMAND = str(Path(__file__).with_name("siege_command.py"))

seed = int(sys.argv[1])
rng = random.Random(seed)
journal = Journal(app.SIDE)
tags = (f"{seed}-{number}" for number in count())


def acked(handle: JobHandle[Any]) -> JobHandle[Any]:
    journal.note("acked", handle.id)
    return handle


def put(task: Any, *, options: dict[str, Any] | None = None, **arguments: Any) -> JobHandle[Any]:
    return acked(task.options(tag=next(tags), **(options or {})).enqueue(**arguments))


def command() -> None:
    words = (sys.executable, "-I", "-S", COMMAND, str(app.SIDE), str(rng.randrange(20)))
    acked(app.hf.command(*words, tag=next(tags), retry=app.PLAIN))


def cancel_one() -> None:
    handle = put(app.slow)
    time.sleep(rng.choice((0, 0.02)))
    answer = handle.cancel()
    journal.note("cancelled" if answer.cancelled else "asked" if answer.requested else "ended", handle.id)


def depend() -> None:
    first = put(app.flaky, n=rng.randrange(9))
    put(app.plain, options={"after": first}, n=1)
    put(app.plain, options={"after_ended": first}, n=2)


def line_up() -> None:
    group = app.hf.create_group(mode="sequential", on_failure="continue")
    put(app.plain, options={"group": group}, n=1)
    put(app.chained, options={"group": group}, n=rng.randrange(9))
    put(app.plain, options={"group": group}, n=2)


def flood() -> None:
    for handle in app.plain.enqueue_many([{"n": n} for n in range(40)]):
        acked(handle)


def chain() -> None:
    group = app.hf.chain(
        app.plain.call(n=1), [app.plain.call(n=2), app.flaky.call(n=rng.randrange(9))], app.chained.call(n=3)
    )
    for job in group.jobs:
        acked(job)


def insist(action: Callable[[], object]) -> None:
    """Until it is acknowledged."""
    while True:
        try:
            action()
            return
        except HoldfastError as error:
            journal.note("refused", error.code)


happenings = Happenings(app.hf, journal, rng)

KINDS: tuple[Callable[[], object], ...] = (
    lambda: put(app.plain, n=rng.randrange(9)),
    lambda: put(app.coroutine, n=rng.randrange(99)),
    lambda: put(app.flaky, n=rng.randrange(9)),
    lambda: put(app.chained, n=rng.randrange(9)),
    lambda: put(app.once),
    lambda: put(app.edit, file=rng.randrange(3)),
    lambda: put(app.napping),
    lambda: put(app.parent, n=rng.randrange(9)),
    lambda: put(app.slow),
    command,
    cancel_one,
    depend,
    line_up,
    chain,
    flood,
    lambda: happenings.await_one(app.plain, n=rng.randrange(9)),
    lambda: happenings.await_one(app.chained, n=rng.randrange(9)),
    happenings.emit,
)


def live_jobs() -> int:
    return sum(jobs for states in app.hf.counts().values() for state, jobs in states.items() if state in LIVE)


insist(lambda: happenings.put_schedules(app.plain, n=1))
while not (app.SIDE / "stop").exists():
    try:
        if live_jobs() > BACKLOG:
            time.sleep(0.01)
        else:
            rng.choice(KINDS)()
    except HoldfastError as error:
        journal.note("refused", error.code)
insist(happenings.pause_schedules)
happenings.emit_all()
app.hf.close()
