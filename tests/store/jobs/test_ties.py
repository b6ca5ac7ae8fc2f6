"""Jobs that are tied to a machine: only its workers take them, and nobody else walks past them."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from holdfast.core.errors import InvalidInput, NotFound
from holdfast.core.gates.gates import Closed
from holdfast.core.jobs.requests import ClaimRequest, NewJob, QueueSlots
from holdfast.core.machine.machine import JudgedMachine
from holdfast.core.messages.jobs import Retied
from holdfast.core.messages.machines import TokenSetting
from holdfast.core.messages.sessions import NewSession, Offer
from holdfast.core.rules.tokens import Tokens
from holdfast.core.values.retry import RetryMode, RetryPolicy
from holdfast.store.engine import Engine, new_uuid
from holdfast.store.scripts.claiming.claim import claim
from holdfast.store.scripts.claiming.why import why
from holdfast.store.scripts.jobs.enqueue import enqueue
from holdfast.store.scripts.jobs.reorder import move_ties, tie_job
from holdfast.store.scripts.jobs.retry import retry_job
from holdfast.store.scripts.machines.nodes import note_node
from holdfast.store.scripts.maintenance.probed_machines import note_machine
from holdfast.store.scripts.queues.crowding import ready_since
from holdfast.store.scripts.reading.read_jobs import find_job, find_last
from holdfast.store.scripts.sessions import sessions
from holdfast.store.sqlite.connection import SqliteTx, connect
from holdfast.store.sqlite.engine import SqliteEngine
from tests.store.acts import (
    FAILED,
    FAILED_FOR_GOOD,
    NOW,
    TASK,
    claim_some,
    dump,
    end,
    execute,
    let_time_pass,
    put,
    put_one,
    write,
)

IDLE = JudgedMachine(is_idle=True, idle="idle", is_charging=True, charging="on AC", source="test")
AWAY = "away"


@pytest.fixture
def pair(engine: Engine) -> Engine:
    """Two machines with a worker each, `here` and `there`, and one that was here once."""
    write(engine, note_node, "id-away", AWAY, NOW - 300_000)
    for name in ("here", "there"):
        tokens = TokenSetting(tokens=Tokens(cpu=2))
        session = NewSession(name, "daemon", f"id-{name}", "boot", 1, None, tokens, name)
        offer = Offer(f"w-{name}", "worker", (TASK,), ("default",), 10)
        write(engine, sessions.open_session, session, offer, NOW)
    return engine


def taken(engine: Engine, session: str, slots: int = 100) -> list[str]:
    return [run.job_id for run in claim_some(engine, slots, session=session)]


def test_only_a_worker_of_its_machine_takes_a_job_that_is_tied(pair: Engine) -> None:
    put_one(pair, "by name", node="here")
    put_one(pair, "by id", node="id-here")
    put_one(pair, "lost", node=AWAY)
    assert taken(pair, "there") == []
    assert taken(pair, "here") == ["by name", "by id"]
    assert pair.query(find_job, "lost").node == AWAY


def test_jobs_with_and_without_a_tie_keep_one_order(pair: Engine) -> None:
    put_one(pair, "1")
    put_one(pair, "2", node="here")
    put_one(pair, "there", node="there")
    put_one(pair, "3", tokens=Tokens(cpu=1))
    put_one(pair, "4", node="here", tokens=Tokens(cpu=1))
    put_one(pair, "0", node="here", priority=1)
    assert taken(pair, "here") == ["0", "1", "2", "3", "4"]
    assert taken(pair, "there") == ["there"]


def test_tenants_take_turns_over_the_jobs_of_their_machine_alone(pair: Engine) -> None:
    for number in range(2):
        put_one(pair, f"x{number}", tenant="x", node="here")
        put_one(pair, f"z{number}", tenant="z", node=AWAY)
        put_one(pair, f"y{number}", tenant="y")
    assert taken(pair, "here", 3) == ["x0", "y0", "x1"]
    assert taken(pair, "there") == ["y1"]


def test_a_job_that_is_tied_waits_for_its_own_machine_to_be_idle(pair: Engine) -> None:
    put_one(pair, "j", node="here", wait_for_idle=True)
    write(pair, note_machine, "id-there", IDLE, None, NOW)
    assert (taken(pair, "there"), taken(pair, "here")) == ([], [])
    write(pair, note_machine, "id-here", IDLE, None, NOW)
    assert taken(pair, "here") == ["j"]


def test_room_is_kept_on_no_other_machine_for_a_job_that_is_tied(pair: Engine) -> None:
    put_one(pair, "runs", node="here", tokens=Tokens(cpu=2))
    assert taken(pair, "here") == ["runs"]
    put_one(pair, "big", node="here", tokens=Tokens(cpu=2))
    assert taken(pair, "here") == []
    later = NOW + 60_000
    put_one(pair, "small", tokens=Tokens(cpu=1), now=later)
    there = claim_some(pair, session="there", now=later)
    assert [run.job_id for run in there] == ["small"]


def test_a_suspect_runs_on_its_own_machine(pair: Engine) -> None:
    put_one(pair, "j", node="here")
    execute(pair, "UPDATE jobs SET is_suspect = 1")
    assert taken(pair, "there") == []
    assert taken(pair, "here") == ["j"]


def test_a_machine_that_nobody_knows_is_refused_and_nothing_is_stored(pair: Engine) -> None:
    before = dump(pair)
    with pytest.raises(NotFound, match="there is no machine 'nowhere'; known are: away, here, node, there"):
        put(pair, NewJob(id="fine", task=TASK), NewJob(id="j", task=TASK, node="nowhere"))
    assert dump(pair) == before


def test_every_retry_stays_on_the_machine(pair: Engine) -> None:
    policy = RetryPolicy(retries=1, initial_ms=1, mode=RetryMode.CHAIN)
    put_one(pair, "j", node="here", policy=policy)
    [run] = claim_some(pair, session="here")
    end(pair, run, FAILED)
    assert pair.query(find_last, "j").node == "here"
    let_time_pass(pair, NOW + 10_000)
    [run] = claim_some(pair, session="here", now=NOW + 10_000)
    end(pair, run, FAILED_FOR_GOOD)
    again = write(pair, retry_job, "j", NOW + 10_000)
    assert again.id is not None
    assert pair.query(find_job, again.id).node == "here"


def test_a_gate_names_the_machine_and_when_it_was_last_seen(pair: Engine) -> None:
    put_one(pair, "j", node=AWAY)
    [gate] = pair.query(why, "j", NOW).closed
    assert gate == Closed(
        "machine",
        "it may run on machine 'away' alone",
        "nobody is there; it was last seen 5 min ago",
        f"that machine to come back, or: holdfast move {pair.query(find_job, 'j').number} --anywhere",
    )


def test_a_gate_says_that_no_worker_of_the_machine_offers_it(pair: Engine) -> None:
    write(pair, sessions.note_stop_request, "here", NOW)
    put_one(pair, "j", node="here")
    [gate] = pair.query(why, "j", NOW).closed
    assert (gate.gate, gate.now) == ("machine", "no worker there offers it")


def test_others_of_a_dead_machine_do_not_stand_before_a_job(pair: Engine) -> None:
    for number in range(3):
        put_one(pair, f"lost {number}", node=AWAY)
    for number in range(22):
        put_one(pair, f"j{number}")
    said = {gate.gate: gate.now for gate in pair.query(why, "j21", NOW).gates}
    assert "21 jobs before it" in said["tenant's turn"]


def test_a_job_is_tied_and_freed_by_hand(pair: Engine) -> None:
    put_one(pair, "j", node=AWAY)
    write(pair, tie_job, "j", "there")
    assert taken(pair, "here") == []
    write(pair, tie_job, "j", None)
    assert (pair.query(find_job, "j").node, taken(pair, "here")) == (None, ["j"])


def test_all_jobs_of_a_machine_are_freed_or_moved_some_at_a_time(pair: Engine) -> None:
    for number in range(5):
        put_one(pair, f"j{number}", node=AWAY, delay_ms=1_000 * (number % 2))
    put_one(pair, "other", node="here")
    assert write(pair, move_ties, AWAY, dry_run=True) == Retied(5, more=False)
    assert write(pair, move_ties, AWAY, limit=3) == Retied(3, more=True)
    assert write(pair, move_ties, AWAY, "there", limit=3) == Retied(2, more=False)
    ties = sorted((job_id, pair.query(find_job, job_id).node) for job_id in ("j0", "j1", "j2", "j3", "j4", "other"))
    assert ties == [("j0", None), ("j1", "there"), ("j2", None), ("j3", "there"), ("j4", None), ("other", "here")]
    assert taken(pair, "here") == ["j0", "j2", "j4", "other"]


def test_jobs_are_not_moved_to_where_they_are(pair: Engine) -> None:
    with pytest.raises(InvalidInput, match="tied to 'here' already"):
        write(pair, move_ties, "here", "id-here")


def test_the_wait_of_a_queue_is_that_of_jobs_somebody_may_take(pair: Engine) -> None:
    put_one(pair, "lost", node=AWAY)
    assert pair.query(ready_since, "default") is None
    put_one(pair, "tied", node="here", now=NOW + 5)
    assert pair.query(ready_since, "default") == NOW + 5


def test_any_number_of_jobs_of_a_dead_machine_cost_a_claim_nothing(tmp_path: Path) -> None:
    path = str(tmp_path / "store.db")
    with closing(SqliteEngine(path, now=lambda: NOW)) as engine:
        write(engine, note_node, "id-away", AWAY, NOW)
        session = NewSession("here", "embedded", "id-here", "boot", 1, None)
        write(engine, sessions.open_session, session, None, NOW)
        put(engine, *(NewJob(id=f"j{number}", task=TASK) for number in range(20)))
        put(engine, NewJob(id="mine", task=TASK, node="id-here"))
    before = steps_of_a_claim(path)
    with closing(SqliteEngine(path, now=lambda: NOW)) as engine:
        lost = [NewJob(id=f"lost{number}", task=TASK, node=AWAY, priority=9) for number in range(3_000)]
        write(engine, enqueue, lost, NOW)
    assert steps_of_a_claim(path) <= 1.1 * before


def steps_of_a_claim(path: str) -> int:
    """How many steps the database takes for a claim, which is then undone."""
    steps = 0

    def count() -> bool:
        nonlocal steps
        steps += 1
        return False

    with closing(connect(path, writable=True, durability="normal")) as connection:
        connection.set_progress_handler(count, 1)
        connection.execute("BEGIN IMMEDIATE")
        queues: Sequence[QueueSlots] = (QueueSlots("default", 5),)
        request = ClaimRequest(session_id="here", slots=5, queues=tuple(queues), tasks=(TASK,))
        assert len(claim(SqliteTx(connection, new_uuid, lambda: "id-here"), request, NOW)) == 5
        connection.execute("ROLLBACK")
    return steps
