"""Direct reservation: a scope is kept free of new runs while somebody uses the machine directly."""

from __future__ import annotations

import pytest

from holdfast.core.errors import Busy, NotFound
from holdfast.core.messages.reservations import EVERYTHING, NewReservation, Reservation
from holdfast.store.engine import Engine
from holdfast.store.scripts.queues.reservations import find_reservation, grant
from holdfast.store.scripts.queues.reserve import list_reservations, release, reserve
from tests.store.acts import (
    NOW,
    SESSION,
    claim_one,
    claim_some,
    claimed_ids,
    dump,
    end,
    let_time_pass,
    lose,
    new_job,
    open_session,
    put,
    put_one,
    write,
)

QUEUES = ("x", "y")


def hold(engine: Engine, scope: str, reservation_id: str = "r", *, now: int = NOW, wait_ms: int = 0) -> Reservation:
    request = NewReservation(reservation_id, scope, "somebody", SESSION, 1000, wait_ms)
    return write(engine, reserve, request, now)


def stand_in_line(engine: Engine, scope: str, name: str, *, now: int = NOW, wait_ms: int = 10_000) -> Reservation:
    request = NewReservation(name, scope, name, SESSION, 1000, wait_ms, in_line=True)
    return write(engine, reserve, request, now)


def line(engine: Engine) -> list[tuple[str, str]]:
    return [(held.id, held.status) for held in engine.query(list_reservations)]


def one_job_each(engine: Engine) -> None:
    put(engine, *(new_job(f"in {queue}", queue=queue) for queue in QUEUES))


def test_a_reservation_of_an_idle_scope_is_granted_at_once(engine: Engine) -> None:
    held = hold(engine, "x")
    assert (held.status, held.granted_at, held.expires_at, held.ended_at) == ("ACTIVE", NOW, NOW + 1000, None)
    assert (held.scope, held.reserved_by, held.session_id) == ("x", "somebody", SESSION)


def test_a_reserved_queue_starts_nothing_and_others_do(engine: Engine) -> None:
    one_job_each(engine)
    hold(engine, "x")
    assert claimed_ids(engine, queues=QUEUES) == ["in y"]


def test_everything_reserved_starts_nothing_at_all(engine: Engine) -> None:
    one_job_each(engine)
    hold(engine, EVERYTHING)
    assert claim_some(engine, queues=QUEUES) == []


@pytest.mark.parametrize("scope", ["x", EVERYTHING])
def test_what_runs_in_the_scope_is_waited_for(engine: Engine, scope: str) -> None:
    put(engine, new_job("a", queue="x"), new_job("b", queue="x"))
    run = claim_one(engine, queues=("x",))
    held = hold(engine, scope, wait_ms=500)
    assert (held.granted_at, held.expires_at) == (None, NOW + 1500)
    assert claim_some(engine, queues=("x",)) == []
    end(engine, run, now=NOW + 200)
    granted = write(engine, grant, "r", NOW + 300)
    assert (granted.granted_at, granted.expires_at) == (NOW + 300, NOW + 1300)


def test_what_runs_elsewhere_is_not_waited_for(engine: Engine) -> None:
    put_one(engine, "a", queue="y")
    claim_one(engine, queues=QUEUES)
    assert hold(engine, "x").granted_at == NOW


def test_a_grant_is_given_once(engine: Engine) -> None:
    hold(engine, "x")
    assert write(engine, grant, "r", NOW + 50).granted_at == NOW


@pytest.mark.parametrize(
    ("first", "second"), [("x", "x"), ("x", EVERYTHING), (EVERYTHING, "x"), (EVERYTHING, EVERYTHING)]
)
def test_overlapping_reservations_are_refused(engine: Engine, first: str, second: str) -> None:
    hold(engine, first)
    before = dump(engine)
    with pytest.raises(Busy, match="somebody"):
        hold(engine, second, "r2")
    assert dump(engine) == before


def test_two_queues_can_be_reserved_side_by_side(engine: Engine) -> None:
    hold(engine, "x")
    assert hold(engine, "y", "r2").granted_at == NOW


def test_a_released_scope_starts_jobs_in_their_old_order(engine: Engine) -> None:
    put(engine, *(new_job(name) for name in "abc"))
    hold(engine, "default")
    assert write(engine, release, "r", NOW + 5).status == "RELEASED"
    assert claimed_ids(engine) == ["a", "b", "c"]


def test_releasing_twice_is_harmless(engine: Engine) -> None:
    hold(engine, "x")
    once = write(engine, release, "r", NOW + 5)
    assert write(engine, release, "r", NOW + 9) == once


def test_a_released_scope_can_be_reserved_again(engine: Engine) -> None:
    hold(engine, "x")
    write(engine, release, "r", NOW)
    assert hold(engine, "x", "r2").granted_at == NOW


def test_an_expired_reservation_makes_room_for_the_next(engine: Engine) -> None:
    hold(engine, "x")
    assert hold(engine, "x", "r2", now=NOW + 1000).granted_at == NOW + 1000
    assert engine.query(find_reservation, "r").status == "EXPIRED"


def test_an_expired_reservation_is_neither_granted_nor_released(engine: Engine) -> None:
    put_one(engine, "a", queue="x")
    run = claim_one(engine, queues=("x",))
    hold(engine, "x")
    let_time_pass(engine, NOW + 1000)
    end(engine, run)
    assert write(engine, grant, "r", NOW + 2000).granted_at is None
    assert write(engine, release, "r", NOW + 2000).status == "EXPIRED"


def test_a_reservation_that_does_not_exist_is_not_found(engine: Engine) -> None:
    for act in (grant, release):
        with pytest.raises(NotFound, match="nothing"):
            write(engine, act, "nothing", NOW)


def test_those_in_line_have_their_turn_in_order_and_only_then(engine: Engine) -> None:
    hold(engine, "x")
    for later, scope in enumerate((EVERYTHING, "y", "x")):
        assert stand_in_line(engine, scope, scope, now=NOW + later).status == "WAITING"
    with pytest.raises(Busy, match=r"queue 'y' is reserved by \*, who reserved everything"):
        hold(engine, "y", "r2")
    write(engine, release, "r", NOW + 5)
    assert line(engine) == [(EVERYTHING, "ACTIVE"), ("y", "WAITING"), ("x", "WAITING")]
    write(engine, release, EVERYTHING, NOW + 6)
    assert line(engine) == [("y", "ACTIVE"), ("x", "ACTIVE")]


def test_its_time_to_live_counts_from_the_grant_and_not_from_the_line(engine: Engine) -> None:
    put_one(engine, "a", queue="x")
    run = claim_one(engine, queues=("x",))
    hold(engine, "x", wait_ms=500)
    assert stand_in_line(engine, "x", "next").expires_at == NOW + 10_000
    write(engine, release, "r", NOW + 400)
    held = engine.query(find_reservation, "next")
    assert (held.status, held.granted_at, held.expires_at) == ("ACTIVE", None, NOW + 11_000)
    end(engine, run)
    assert write(engine, grant, "next", NOW + 700).expires_at == NOW + 1_700


def test_whoever_has_no_patience_left_leaves_the_line(engine: Engine) -> None:
    hold(engine, "x", wait_ms=60_000)
    stand_in_line(engine, "x", "hasty", wait_ms=100)
    stand_in_line(engine, "x", "patient")
    let_time_pass(engine, NOW + 100)
    assert line(engine) == [("r", "ACTIVE"), ("patient", "WAITING")]


def test_the_line_of_a_process_that_is_gone_is_closed(engine: Engine) -> None:
    open_session(engine, "s2")
    hold(engine, "x")
    write(engine, reserve, NewReservation("other", "x", "other", "s2", 1000, 1000, in_line=True), NOW)
    stand_in_line(engine, "x", "mine")
    lose(engine, SESSION, NOW + 1)
    assert line(engine) == [("other", "ACTIVE")]


def test_those_in_line_hold_nothing_back_before_their_turn(engine: Engine) -> None:
    one_job_each(engine)
    hold(engine, "x")
    stand_in_line(engine, EVERYTHING, "all")
    assert claimed_ids(engine, queues=QUEUES) == ["in y"]
