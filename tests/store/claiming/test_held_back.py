"""Whoever is held back for the sake of one job is woken when that job goes, or may not start any more."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from msgspec import structs

from holdfast.core.gates.breaker import USUAL_FAILURES, Sign
from holdfast.core.machine.machine import JudgedMachine
from holdfast.core.messages.machines import TokenSetting
from holdfast.core.messages.reservations import NewReservation
from holdfast.core.messages.sessions import NewSession, Offer
from holdfast.core.rules.tokens import Tokens
from holdfast.core.values.retry import Failure, FailureKind
from holdfast.store.engine import Engine
from holdfast.store.scripts.claiming.claim import claim
from holdfast.store.scripts.jobs.cancel import cancel_job
from holdfast.store.scripts.jobs.enqueue import enqueue
from holdfast.store.scripts.maintenance.clockwork import tick
from holdfast.store.scripts.maintenance.probed_machines import note_machine
from holdfast.store.scripts.queues.breakers import Ending, note_endings
from holdfast.store.scripts.queues.queues import pause, set_limit
from holdfast.store.scripts.queues.reserve import reserve
from holdfast.store.scripts.sessions import sessions
from holdfast.store.scripts.sessions.recover import recover
from tests.store.acts import (
    NOW,
    TASK,
    claim_one,
    claim_some,
    claimed_ids,
    end,
    let_time_pass,
    lose,
    new_job,
    put,
    put_one,
    write,
)
from tests.store.telling.test_wake_ups import asking, woken

LATE = NOW + 10 * 60_000
LATER = LATE + 31_000
OVER = LATER + 5_000
QUEUES = ("default", "odd", "other")
SUBJECT = "a::b::c"
IDLE = JudgedMachine(is_idle=True, idle="as told", is_charging=True, charging="as told", source="test")
BUSY = structs.replace(IDLE, is_idle=False)
RESERVED = NewReservation("r1", "odd", "somebody", "s1", 60_000, 60_000)
FAILED = Ending("odd", None, Sign.INFRA, Failure(FailureKind.INFRA, "ERR_TEST", "the disk is full"))
FIRST: dict[str, Any] = {"queue": "odd", "subject": SUBJECT, "deadline": OVER, "wait_for_idle": True}


def worker(engine: Engine, session: str, node: str = "node", tasks: tuple[str, ...] = (TASK,)) -> None:
    """A worker that takes everything begins on an idle machine with 4 cpu."""
    offer = Offer(f"w of {session}", "w", tasks, QUEUES, 10)
    row = NewSession(session, "worker", node, "boot", 1, None, TokenSetting(tokens=Tokens(cpu=4)))
    write(engine, sessions.open_session, row, offer, NOW)
    write(engine, note_machine, node, IDLE, None, NOW)


def for_one_that_runs_alone(engine: Engine) -> None:
    """A worker that runs something is left to run empty for a job whose process died."""
    worker(engine, "here")
    worker(engine, "dies")
    put_one(engine, "first", **FIRST)
    claim_one(engine, session="dies", queues=("odd",))
    lose(engine, "dies")
    let_time_pass(engine, LATE)
    put(engine, new_job("running"), new_job("patient", queue="other"), now=LATE)
    claim_one(engine, session="here", now=LATE)


def for_one_that_needs_much(engine: Engine) -> None:
    """The room on a machine is kept for a job that does not fit."""
    worker(engine, "here")
    put(engine, new_job("running", tokens=Tokens(cpu=1)), new_job("patient", queue="other", tokens=Tokens(cpu=1)))
    put_one(engine, "first", tokens=Tokens(cpu=4), **FIRST)
    claim_one(engine, session="here", now=LATE)
    assert claim_some(engine, session="here", queues=("odd",), now=LATE) == []


KEEPING = pytest.mark.parametrize("keep", [for_one_that_runs_alone, for_one_that_needs_much])


@KEEPING
@pytest.mark.parametrize(
    "act",
    [
        pytest.param((cancel_job, "first", LATER), id="cancelled"),
        pytest.param((enqueue, [new_job("newer", queue="odd", subject=SUBJECT)], LATER), id="superseded"),
        pytest.param((tick, OVER), id="past its deadline"),
        pytest.param((pause, "odd", None, LATER), id="queue paused"),
        pytest.param((reserve, RESERVED, LATER), id="queue reserved"),
        pytest.param((note_endings, [FAILED] * USUAL_FAILURES, LATER), id="breaker open"),
        pytest.param((note_machine, "node", BUSY, None, LATER), id="machine not idle"),
    ],
)
def test_others_are_woken_when_it_goes_or_may_not_start(
    engine: Engine, keep: Callable[[Engine], None], act: tuple[Any, ...]
) -> None:
    keep(engine)
    assert claimed_ids(engine, session="here", queues=QUEUES, now=LATER) == []
    assert woken(engine, *act) >= {"other"}
    assert "patient" in claimed_ids(engine, session="here", queues=QUEUES, now=OVER)


def test_others_are_woken_when_its_queue_is_full(engine: Engine) -> None:
    write(engine, set_limit, "odd", 1)
    for_one_that_runs_alone(engine)
    put_one(engine, "beside", queue="odd", now=LATE)
    worker(engine, "there", node="elsewhere")
    assert claimed_ids(engine, session="here", queues=QUEUES, now=LATER) == []
    write(engine, note_machine, "elsewhere", BUSY, None, LATER)
    assert woken(engine, claim, asking("odd", session="there"), LATER) >= {"other"}
    assert claimed_ids(engine, session="here", queues=QUEUES, now=LATER) == ["patient"]


def test_room_that_is_kept_on_two_machines_is_free_when_the_job_starts_on_one(engine: Engine) -> None:
    for_one_that_needs_much(engine)
    worker(engine, "there", node="elsewhere")
    assert claimed_ids(engine, session="here", queues=QUEUES, now=LATER) == []
    assert woken(engine, claim, asking("odd", session="there"), LATER) >= {"other"}
    assert claimed_ids(engine, session="here", queues=QUEUES, now=LATER) == ["patient"]


@pytest.mark.parametrize(
    "act",
    [
        pytest.param((sessions.note_stop_request, "there", LATER), id="stops"),
        pytest.param((sessions.close_session, "there", "success", LATER), id="has stopped"),
        pytest.param((recover, "there", False, LATER), id="died"),
    ],
)
def test_room_is_free_when_nobody_is_left_who_could_start_the_job(engine: Engine, act: tuple[Any, ...]) -> None:
    worker(engine, "here")
    worker(engine, "there", tasks=("rare",))
    put(engine, new_job("running", tokens=Tokens(cpu=1)), new_job("patient", queue="other", tokens=Tokens(cpu=1)))
    put_one(engine, "first", queue="odd", task="rare", tokens=Tokens(cpu=4))
    claim_one(engine, session="here", now=LATE)
    assert claimed_ids(engine, session="there", queues=("odd",), tasks=("rare",), now=LATE) == []
    assert claimed_ids(engine, session="here", queues=("other",), now=LATER) == []
    assert woken(engine, *act) >= {"other"}
    assert claimed_ids(engine, session="here", queues=("other",), now=LATER) == ["patient"]


def test_room_is_kept_for_one_that_runs_alone_as_for_any_other(engine: Engine) -> None:
    worker(engine, "here")
    worker(engine, "dies")
    worker(engine, "busy")
    put_one(engine, "first", queue="odd", tokens=Tokens(cpu=4))
    claim_one(engine, session="dies", queues=("odd",))
    lose(engine, "dies")
    let_time_pass(engine, LATE)
    put(engine, *[new_job(f"small {n}", tokens=Tokens(cpu=1)) for n in range(3)], now=LATE)
    runs = claim_some(engine, 2, session="busy", now=LATE)
    assert claimed_ids(engine, session="here", queues=("odd",), now=LATE) == []
    assert claimed_ids(engine, session="busy", now=LATER) == [], "others would pass it for ever"
    for run in runs:
        end(engine, run, now=LATER)
    assert claimed_ids(engine, session="here", queues=("odd", "default"), now=LATER) == ["first"]
