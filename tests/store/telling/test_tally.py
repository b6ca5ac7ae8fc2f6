"""What is counted of a commit: every job that was stored or ended in it, and nothing that was not."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from holdfast.core.errors import NotFound
from holdfast.core.job import TERMINAL, StateName
from holdfast.core.values.group import Dependency
from holdfast.core.values.retry import RetryMode, RetryPolicy
from holdfast.store.engine import Engine
from holdfast.store.scripts.jobs.cancel import cancel_job
from holdfast.store.scripts.reading.read_jobs import counts
from holdfast.store.tally import Tally
from tests.store.acts import (
    FAILED,
    NOW,
    claim_one,
    end,
    let_time_pass,
    new_job,
    put,
    put_and_end,
    put_one,
    settle,
    write,
)


class Watched:
    """The sum of everything that was told."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._tally = Tally()
        self.seconds: list[float] = []

    def __call__(self, seconds: float, tally: Tally) -> None:
        self._tally.merge(tally)
        self.seconds.append(seconds)

    @property
    def tally(self) -> Tally:
        settle(self._engine)
        return self._tally


@pytest.fixture
def watched(engine: Engine) -> Iterator[Watched]:
    watcher = Watched(engine)
    engine.watch(watcher)
    yield watcher
    engine.watch(lambda seconds, tally: None)


def test_every_way_to_end_is_counted_once(engine: Engine, watched: Watched) -> None:
    put_and_end(engine, "done")
    put_and_end(engine, "failed", FAILED)
    put_and_end(engine, "chained", FAILED, policy=RetryPolicy(retries=1, mode=RetryMode.CHAIN))
    put_one(engine, "old", subject="a")
    put_one(engine, "new", subject="a", queue="other")
    put_one(engine, "parent", queue="other")
    put_one(engine, "child", after=(Dependency("parent"),), queue="other")
    write(engine, cancel_job, "parent", NOW)
    put_one(engine, "stale", ttl_ms=1, queue="other")
    put_one(engine, "late", deadline=NOW + 1, queue="other")
    put_one(engine, "too late", deadline=NOW, queue="other")
    let_time_pass(engine, NOW + 10)
    found = {
        (count.queue, StateName(count.state)): count.jobs
        for count in engine.query(counts)
        if count.state in TERMINAL and count.jobs
    }
    assert watched.tally.ended == found
    assert {state for _, state in found} == set(TERMINAL)
    assert watched.tally.enqueued == {"default": 5, "other": 6}


def test_what_was_undone_is_not_counted(engine: Engine, watched: Watched) -> None:
    with pytest.raises(NotFound):
        put(engine, new_job("one"), new_job("two", after=(Dependency("nowhere"),)))
    assert watched.tally == Tally()


def test_a_job_that_goes_back_has_not_ended(engine: Engine, watched: Watched) -> None:
    put_one(engine, "job", policy=RetryPolicy(retries=1))
    assert end(engine, claim_one(engine), FAILED).state is StateName.SCHEDULED
    assert watched.tally == Tally(enqueued={"default": 1})


def test_every_commit_is_told_with_the_time_it_took(engine: Engine, watched: Watched) -> None:
    put_one(engine, "job")
    settle(engine)
    assert watched.seconds
    assert all(0 <= seconds < 60 for seconds in watched.seconds)


def test_a_watcher_that_fails_loses_no_commit(engine: Engine, watched: Watched) -> None:
    def fail(seconds: float, tally: Tally) -> None:
        raise RuntimeError("the watcher is broken")

    engine.watch(fail)
    put_one(engine, "job")
    assert put_one(engine, "other").state is StateName.QUEUED
