"""Sessions, and what recovery makes of what a dead one left behind. Who pays is decided by how it died."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast.core.job import JobId, StateName
from holdfast.core.jobs.recovery import CRASH_CODE
from holdfast.core.jobs.run import RunStatus
from holdfast.core.messages.reservations import NewReservation
from holdfast.core.messages.sessions import Offer
from holdfast.core.values.retry import RetryMode, RetryPolicy
from holdfast.store.engine import Engine
from holdfast.store.scripts.jobs.cancel import cancel_job
from holdfast.store.scripts.queues.reservations import find_reservation
from holdfast.store.scripts.queues.reserve import reserve
from holdfast.store.scripts.runs.exchange import give_back
from holdfast.store.scripts.sessions import sessions
from tests.store.acts import (
    DONE,
    NOW,
    SESSION,
    claim_one,
    claim_some,
    dump,
    end,
    execute,
    last,
    lose,
    new_job,
    open_session,
    put,
    put_one,
    row,
    runs,
    select,
    state,
    states,
    write,
)

LATER = NOW + 10_000_000


def charged(engine: Engine, job_id: JobId) -> tuple[int, int, int]:
    """Tries used up: transient, infra, and the deaths among them."""
    stored = row(engine, job_id)
    return stored.transient_tries, stored.infra_tries, stored.deaths


def is_suspect(engine: Engine, job_id: JobId) -> bool:
    return bool(select(engine, "SELECT is_suspect FROM jobs WHERE id = :id", id=job_id)[0]["is_suspect"])


def session(engine: Engine, session_id: str = SESSION) -> dict[str, Any]:
    [found] = select(engine, "SELECT * FROM sessions WHERE id = :id", id=session_id)
    return found


# What is found, and what is done.


def test_a_run_whose_owner_is_gone_failed_and_its_job_waits_again(engine: Engine) -> None:
    put_one(engine, "a")
    run = claim_one(engine)
    assert lose(engine, now=NOW + 50).settled == 1
    [stored] = runs(engine, "a")
    assert (stored.id, stored.status, stored.finished_at) == (run.run_id, RunStatus.FAILED, NOW + 50)
    assert (stored.error_kind, stored.error_code, stored.duration_ms) == ("infra", CRASH_CODE, 50)
    assert state(engine, "a") is StateName.SCHEDULED


@pytest.mark.parametrize(
    ("status", "kind", "after"),
    [
        ("COMPLETED", None, StateName.DONE),
        ("SKIPPED", None, StateName.DONE),
        ("CANCELLED", None, StateName.CANCELLED),
        ("YIELDED", None, StateName.QUEUED),
        ("FAILED", "infra", StateName.SCHEDULED),
        ("FAILED", "transient", StateName.FAILED),
        ("FAILED", "permanent", StateName.FAILED),
    ],
)
def test_a_running_job_whose_run_has_ended_is_finished_from_its_run(
    engine: Engine, status: str, kind: str | None, after: StateName
) -> None:
    put_one(engine, "a")
    claim_one(engine)
    close = "UPDATE job_runs SET status = :status, error_kind = :kind, finished_at = :now"
    execute(engine, close, status=status, kind=kind, now=NOW)
    lose(engine)
    assert state(engine, "a") is after
    assert [run.status for run in runs(engine, "a")] == [status]


def test_a_running_job_without_a_run_gets_a_failed_one(engine: Engine) -> None:
    put_one(engine, "a")
    claim_one(engine)
    execute(engine, "DELETE FROM job_runs")
    lose(engine)
    [stored] = runs(engine, "a")
    assert (stored.status, stored.error_code, stored.attempt) == (RunStatus.FAILED, CRASH_CODE, 1)
    assert state(engine, "a") is StateName.SCHEDULED


def test_a_run_that_its_living_worker_does_not_list_goes_back_uncharged(engine: Engine) -> None:
    put(engine, new_job("held"), new_job("lost"))
    held, _lost = claim_some(engine)
    assert write(engine, give_back, SESSION, [held.run_id], NOW) == ["lost"]
    assert states(engine, "held", "lost") == [StateName.RUNNING, StateName.QUEUED]
    assert charged(engine, "lost") == (0, 0, 0)
    assert [run.status for run in runs(engine, "lost")] == [RunStatus.YIELDED]


def test_a_reservation_whose_owner_is_gone_expires(engine: Engine) -> None:
    write(engine, reserve, NewReservation("r", "*", "somebody", SESSION, 1000, 0), NOW)
    lose(engine, now=NOW + 1)
    assert engine.query(find_reservation, "r").status == "EXPIRED"


def test_a_dead_session_becomes_unknown_as_of_its_last_heartbeat(engine: Engine) -> None:
    write(engine, sessions.beat, SESSION, NOW + 30)
    lose(engine, now=NOW + 500)
    assert (session(engine)["status"], session(engine)["stopped_at"]) == ("unknown", NOW + 30)


def test_its_workers_are_forgotten(engine: Engine) -> None:
    offer = Offer("w", "worker", ("t",), ("default",), 4)
    open_session(engine, "s2", offer=offer)
    assert select(engine, "SELECT id FROM workers") == [{"id": "w"}]
    lose(engine, "s2")
    assert select(engine, "SELECT id FROM workers") == []


def test_only_the_dead_session_is_settled(engine: Engine) -> None:
    put(engine, new_job("mine"), new_job("theirs"))
    open_session(engine, "s2")
    claim_one(engine)
    claim_one(engine, session="s2")
    lose(engine)
    assert states(engine, "mine", "theirs") == [StateName.SCHEDULED, StateName.RUNNING]


def test_recovery_twice_equals_recovery_once(engine: Engine) -> None:
    put(engine, new_job("a"), new_job("b", policy=RetryPolicy(mode=RetryMode.CHAIN)), new_job("c"), new_job("d"))
    _a, _b, c, _d = claim_some(engine)
    end(engine, c, DONE)
    write(engine, cancel_job, "d", NOW)
    lose(engine)
    once = dump(engine)
    assert lose(engine, now=NOW + 99).settled == 0
    assert dump(engine) == once


def test_recovery_of_an_unknown_session_changes_nothing(engine: Engine) -> None:
    before = dump(engine)
    assert lose(engine, "nobody").settled == 0
    assert dump(engine) == before


# The way back asks whether the job is still wanted.


def test_a_cancelled_run_that_died_is_cancelled(engine: Engine) -> None:
    put_one(engine, "a")
    claim_one(engine)
    write(engine, cancel_job, "a", NOW)
    lose(engine)
    assert state(engine, "a") is StateName.CANCELLED


def test_an_outdated_run_that_died_is_superseded(engine: Engine) -> None:
    put_one(engine, "a", subject="s")
    claim_one(engine)
    put_one(engine, "b", subject="s")
    lose(engine)
    assert states(engine, "a", "b") == [StateName.SUPERSEDED, StateName.QUEUED]


def test_a_run_that_died_past_its_deadline_is_skipped(engine: Engine) -> None:
    put_one(engine, "a", deadline=NOW + 10)
    claim_one(engine)
    lose(engine, now=NOW + 10)
    assert state(engine, "a") is StateName.SKIPPED_DEADLINE


def test_a_chained_job_that_died_is_continued(engine: Engine) -> None:
    put_one(engine, "a", policy=RetryPolicy(mode=RetryMode.CHAIN))
    claim_one(engine)
    lose(engine)
    link = last(engine, "a")
    assert (state(engine, "a"), link.retry_of, link.state.name) == (StateName.FAILED, "a", StateName.SCHEDULED)
    assert is_suspect(engine, link.id)


# Sessions themselves.


def test_a_session_that_beats_is_known_to_live(engine: Engine) -> None:
    assert write(engine, sessions.beat, SESSION, NOW + 1)
    assert write(engine, sessions.beat, SESSION, NOW + 2)
    [living] = engine.query(sessions.running_sessions)
    assert (living.id, living.heartbeat, living.last_heartbeat_at) == (SESSION, 2, NOW + 2)


def test_a_session_that_was_settled_learns_it_from_its_heartbeat(engine: Engine) -> None:
    lose(engine)
    assert not write(engine, sessions.beat, SESSION, NOW)


def test_a_session_closes_only_when_it_owns_no_run(engine: Engine) -> None:
    put_one(engine, "a")
    run = claim_one(engine)
    assert not write(engine, sessions.close_session, SESSION, "success", NOW)
    end(engine, run)
    assert write(engine, sessions.close_session, SESSION, "success", NOW + 9)
    assert (session(engine)["status"], session(engine)["stopped_at"]) == ("success", NOW + 9)
    assert not write(engine, sessions.close_session, SESSION, "error", NOW + 10)


def test_a_session_that_closes_gives_up_its_reservations_and_workers(engine: Engine) -> None:
    open_session(engine, "s2", offer=Offer("w", "worker", ("t",), ("default",), 4))
    write(engine, reserve, NewReservation("r", "*", "somebody", "s2", 1000, 0), NOW)
    assert write(engine, sessions.close_session, "s2", "success", NOW)
    assert engine.query(find_reservation, "r").status == "EXPIRED"
    assert select(engine, "SELECT id FROM workers") == []


def test_a_stop_request_is_noted_once(engine: Engine) -> None:
    write(engine, sessions.note_stop_request, SESSION, NOW + 1)
    write(engine, sessions.note_stop_request, SESSION, NOW + 2)
    assert session(engine)["stop_requested_at"] == NOW + 1
