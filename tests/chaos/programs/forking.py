"""A program that uses one Holdfast object before and after it forks.

`busy`: it works and enqueues while it forks children that enqueue. `orphan`: it works, and a child outlives it.
`cut`: it forks in the middle of a transaction, and does not come out of it. `leaving`: it closes the database and ends
while a child goes on. `workers`: its children work, each for itself.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

from holdfast import Context, Holdfast, StateName
from holdfast.store.engine import Tx
from holdfast.store.postgres import pool
from tests.chaos.journal import Journal
from tests.chaos.processes import KnownProcess, until

LIVE = (StateName.SCHEDULED, StateName.QUEUED, StateName.RUNNING)
CHILDREN = 8
JOBS = 5

target, schema, side, purpose = sys.argv[1:]
folder = Path(side)
journal = Journal(folder)
hf = Holdfast(target, schema=schema)


@hf.task
def note(ctx: Context) -> None:
    with journal.run(ctx):
        pass


@hf.task
def hold(ctx: Context) -> None:
    with journal.run(ctx):
        time.sleep(3600)


def enqueue_some() -> None:
    """What a child does: it must not believe that it works, nor speak in the parent's name."""
    global journal
    journal = Journal(folder)
    assert not hf.is_running
    for _ in range(JOBS):
        journal.note("acked", note.enqueue().id)
    assert hf.doctor() == []


def forked(function: Callable[[], None], leave: Callable[[int], object] = os._exit) -> int:
    """The pid of a child that calls `function` and ends."""
    pid = os.fork()
    if not pid:
        try:
            function()
        except BaseException as error:
            sys.excepthook(type(error), error, error.__traceback__)
            os._exit(1)
        leave(0)
    return pid


def await_well(pid: int) -> None:
    assert os.waitpid(pid, 0) == (pid, 0)


def work_off() -> None:
    while any(count and state in LIVE for states in hf.counts().values() for state, count in states.items()):
        time.sleep(0.005)


def busy() -> None:
    stop = threading.Event()

    def enqueue_all_the_time() -> None:
        while not stop.is_set():
            journal.note("acked", note.enqueue().id)

    producer = threading.Thread(target=enqueue_all_the_time)
    with hf:
        producer.start()
        for _ in range(CHILDREN):
            await_well(forked(enqueue_some))
        process = multiprocessing.get_context("fork").Process(target=enqueue_some)
        process.start()
        process.join()
        assert process.exitcode == 0
        stop.set()
        producer.join()
        work_off()


def orphan() -> None:
    def outlive() -> None:
        journal.note("child", str(KnownProcess.of(os.getpid())))
        until((folder / "go").exists, "the parent is dead")
        enqueue_some()
        journal.note("gone")

    hold.enqueue()
    hf.start()
    until(lambda: hf.counts()["default"].get(StateName.RUNNING), "the job runs")
    await_well(forked(outlive))


def cut() -> None:
    pool.SILENCE_S = 3600.0
    inside = threading.Event()

    def stay(tx: Tx) -> None:
        inside.set()
        time.sleep(3600)

    hf._access.engine.submit(stay)
    inside.wait()

    def outlive() -> None:
        journal.note("child", str(KnownProcess.of(os.getpid())))
        until((folder / "go").exists, "the test is over")

    await_well(forked(outlive))


def leaving() -> None:
    def go_on() -> None:
        enqueue_some()
        journal.note("child", str(KnownProcess.of(os.getpid())))
        until((folder / "go").exists, "the parent is gone")
        enqueue_some()
        journal.note("gone")

    journal.note("acked", note.enqueue().id)
    forked(go_on)
    until((folder / "leave").exists, "the child is at work")
    hf.close()


def workers() -> None:
    def work() -> None:
        global journal
        journal = Journal(folder)
        with hf:
            work_off()
        hf.close()

    for handle in note.enqueue_many([{}] * 60):
        journal.note("acked", handle.id)
    # They end as programs do, with all that an interpreter throws away at its end: nothing of it is the parent's.
    for pid in [forked(work, sys.exit) for _ in range(3)]:
        await_well(pid)
    assert hf.doctor() == []


{"busy": busy, "orphan": orphan, "cut": cut, "leaving": leaving, "workers": workers}[purpose]()
hf.close()
