"""What a running job says about itself. Only the holder of its run can."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from holdfast.core.errors import Conflict
from holdfast.core.jobs.requests import ClaimRequest, QueueSlots, Report
from holdfast.core.jobs.settle import Snoozed, Yielded
from holdfast.core.messages.runs import Exchange, Progress, StopRequest
from holdfast.store.engine import Engine
from holdfast.store.scripts.jobs.cancel import cancel_job
from holdfast.store.scripts.runs.exchange import exchange
from holdfast.store.scripts.runs.progress import note_progress, save_checkpoint
from tests.store.acts import (
    NOW,
    SESSION,
    claim_one,
    end,
    job,
    new_job,
    put,
    put_one,
    report,
    row,
    write,
)


def test_progress_is_shown_on_the_job(engine: Engine) -> None:
    put_one(engine, "a")
    run = claim_one(engine)
    write(engine, note_progress, [Progress("a", run.run_id, 0.25, "a quarter")], "s1")
    assert (job(engine, "a").progress, job(engine, "a").progress_text) == (0.25, "a quarter")


def test_the_last_note_stands(engine: Engine) -> None:
    put_one(engine, "a")
    run = claim_one(engine)
    write(engine, note_progress, [Progress("a", run.run_id, 0.25, "x"), Progress("a", run.run_id, 0.5, None)], "s1")
    assert (job(engine, "a").progress, job(engine, "a").progress_text) == (0.5, None)


def test_a_run_that_was_settled_cannot_speak_for_the_next(engine: Engine) -> None:
    put_one(engine, "a")
    old = claim_one(engine)
    end(engine, old, Yielded("room"))
    claim_one(engine)
    write(engine, note_progress, [Progress("a", old.run_id, 0.9, "late")], "s1")
    assert job(engine, "a").progress is None
    with pytest.raises(Conflict, match="checkpoint"):
        write(engine, save_checkpoint, "a", old.run_id, "1")


def test_a_job_that_waits_again_begins_anew_and_keeps_its_checkpoint(engine: Engine) -> None:
    put_one(engine, "a")
    run = claim_one(engine)
    write(engine, note_progress, [Progress("a", run.run_id, 0.25, "a quarter")], "s1")
    write(engine, save_checkpoint, "a", run.run_id, '{"page":3}')
    end(engine, run, Snoozed(5))
    stored = row(engine, "a")
    assert (stored.progress, stored.progress_text, stored.checkpoint) == (None, None, '{"page":3}')


def request(slots: int = 10) -> ClaimRequest:
    return ClaimRequest(session_id=SESSION, slots=slots, queues=(QueueSlots("default", slots),), tasks=("t",))


def trade(
    engine: Engine,
    reports: Sequence[Report] = (),
    notes: Sequence[Progress] = (),
    *,
    slots: int = 10,
    holds: Sequence[str] | None = None,
) -> Exchange:
    return write(engine, exchange, reports, notes, request(slots), holds, NOW)


def test_an_exchange_takes_results_before_it_hands_out_jobs(engine: Engine) -> None:
    put_one(engine, "old", subject="s")
    run = claim_one(engine)
    put_one(engine, "new", subject="s")
    answer = trade(engine, [report(run)], [])
    assert [settled.state for settled in answer.settled] == ["DONE"]
    assert [claimed.job_id for claimed in answer.claimed] == ["new"]


def test_an_exchange_notes_progress_and_brings_requests_to_stop(engine: Engine) -> None:
    put(engine, new_job("a"), new_job("b"))
    run = claim_one(engine)
    write(engine, cancel_job, "a", NOW)
    answer = trade(engine, [], [Progress("a", run.run_id, 0.5, None)], slots=0)
    assert answer == Exchange([], [], [StopRequest(run.run_id, "cancel")])
    assert job(engine, "a").progress == 0.5


def test_a_job_that_got_lost_on_its_way_comes_again(engine: Engine) -> None:
    put_one(engine, "a")
    lost = claim_one(engine)
    answer = trade(engine, holds=[])
    assert [(claimed.job_id, claimed.attempt) for claimed in answer.claimed] == [("a", 2)]
    assert end(engine, lost).refused is not None


def test_what_the_worker_holds_stays_with_it(engine: Engine) -> None:
    put_one(engine, "a")
    run = claim_one(engine)
    assert trade(engine, holds=[run.run_id]).claimed == []
    assert end(engine, run).refused is None
