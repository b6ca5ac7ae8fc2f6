"""No window of a queue's rate holds more starts than allowed, and nobody waits longer than that asks for."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor

import pytest

from holdfast.core.gates.gates import Closed
from holdfast.core.job import Millis
from holdfast.core.settings.queue_changes import QueueChanges, QueueSetting
from holdfast.store.engine import Engine
from holdfast.store.scripts.claiming.why import why
from holdfast.store.scripts.maintenance.clockwork import next_moment
from holdfast.store.scripts.queues.queues import set_queue
from tests.store.acts import (
    NOW,
    claim_some,
    claimed_ids,
    end,
    let_time_pass,
    lose,
    new_job,
    open_session,
    put,
    select,
    write,
)

WINDOW: Millis = 1_000


def limit(engine: Engine, starts: int, window_ms: Millis = WINDOW, queue: str = "default") -> None:
    write(engine, set_queue, queue, QueueChanges(rate_limit=starts, rate_window_ms=window_ms))


def fill(engine: Engine, count: int) -> None:
    put(engine, *(new_job(f"j{number:03}") for number in range(count)))


def test_no_more_start_than_the_rate_allows_until_the_first_has_left_the_window(engine: Engine) -> None:
    limit(engine, 2)
    fill(engine, 5)
    assert claimed_ids(engine, 1) == ["j000"]
    assert claimed_ids(engine, now=NOW + 400) == ["j001"]
    assert claimed_ids(engine, now=NOW + 999) == []
    assert claimed_ids(engine, now=NOW + 1_000) == ["j002"]
    assert claimed_ids(engine, now=NOW + 1_399) == []
    assert claimed_ids(engine, now=NOW + 1_400) == ["j003"]


@pytest.mark.parametrize("seed", range(3))
def test_no_window_holds_more_starts_than_allowed_whoever_claims_and_dies(engine: Engine, seed: int) -> None:
    chance = random.Random(seed)
    most, now = chance.randint(1, 5), NOW
    limit(engine, most)
    fill(engine, 60)
    sessions = ["s1", open_session(engine, "s2")]
    starts: list[Millis] = []
    while len(starts) < 40:
        number = chance.randrange(2)
        held = claim_some(engine, chance.randint(1, 4), session=sessions[number], now=now)
        starts += [now] * len(held)
        if held and chance.random() < 0.2:
            lose(engine, sessions[number], now)
            sessions[number] = open_session(engine, f"s{len(starts)}-{now}", now)
        else:
            for run in held:
                end(engine, run, now=now)
        now += chance.randint(0, 400)
        let_time_pass(engine, now)
    for start in starts:
        assert sum(start <= other < start + WINDOW for other in starts) <= most, f"seed {seed}: {starts}"
    assert len(select(engine, "SELECT 1 FROM queue_starts")) <= WINDOW


def test_sessions_that_claim_at_the_same_time_share_one_rate(engine: Engine) -> None:
    limit(engine, 7)
    fill(engine, 40)
    names = [open_session(engine, f"worker{number}") for number in range(6)]
    with ThreadPoolExecutor(len(names)) as threads:
        counts = list(threads.map(lambda name: len(claim_some(engine, 3, session=name)), names))
    assert sum(counts) == 7


def test_a_clock_that_is_behind_starts_nothing_more(engine: Engine) -> None:
    limit(engine, 2)
    fill(engine, 5)
    claim_some(engine, 2)
    assert claimed_ids(engine, now=NOW - 500) == []
    assert claimed_ids(engine, 1, now=NOW + 1_000) == ["j002"]


def test_starts_of_a_clock_that_was_wrong_hold_nobody(engine: Engine) -> None:
    limit(engine, 2)
    fill(engine, 5)
    claim_some(engine, 2, now=NOW + 86_400_000)
    assert len(claim_some(engine)) == 2
    assert claim_some(engine, now=NOW + 999) == []


def test_whoever_serves_the_queue_is_woken_when_the_window_opens(engine: Engine) -> None:
    limit(engine, 2)
    fill(engine, 5)
    claim_some(engine, 1)
    assert engine.query(next_moment) is None
    claim_some(engine, 1, now=NOW + 300)
    assert engine.query(next_moment) == NOW + WINDOW
    assert let_time_pass(engine, NOW + WINDOW).promoted == 1
    assert engine.query(next_moment) is None
    claim_some(engine, now=NOW + WINDOW)
    assert engine.query(next_moment) == NOW + 300 + WINDOW


def test_the_gate_says_when_it_opens(engine: Engine) -> None:
    limit(engine, 2)
    fill(engine, 3)
    claim_some(engine, 2)
    [gate] = [gate for gate in engine.query(why, "j002", NOW + 5).gates if gate.gate == "rate limit"]
    assert isinstance(gate, Closed)
    assert (gate.now, gate.opens_at) == ("2 of 2 started in the last second", NOW + WINDOW)
    later = engine.query(why, "j002", NOW + WINDOW).closed
    assert "rate limit" not in [gate.gate for gate in later]


def test_a_lower_rate_holds_at_once_and_is_woken_too(engine: Engine) -> None:
    limit(engine, 4)
    fill(engine, 9)
    for step in range(4):
        claim_some(engine, 1, now=NOW + step * 100)
    limit(engine, 2)
    assert claim_some(engine, now=NOW + 1_000) == []
    assert engine.query(next_moment) == NOW + 1_200
    assert len(claim_some(engine, now=NOW + 1_200)) == 1


def test_a_wider_window_counts_what_is_remembered(engine: Engine) -> None:
    limit(engine, 3)
    fill(engine, 20)
    for step in range(5):
        claim_some(engine, now=NOW + step * WINDOW)
    limit(engine, 4, 10 * WINDOW)
    assert len(claim_some(engine, now=NOW + 4 * WINDOW)) == 1


def test_a_rate_can_be_lifted(engine: Engine) -> None:
    limit(engine, 1)
    fill(engine, 5)
    claim_some(engine)
    write(engine, set_queue, "default", QueueChanges(clear=(QueueSetting.RATE,)))
    assert len(claim_some(engine)) == 4
    assert engine.query(next_moment) is None
    assert select(engine, "SELECT 1 FROM queue_starts") == []


def test_the_rate_of_one_queue_leaves_others_alone(engine: Engine) -> None:
    limit(engine, 1, queue="x")
    put(engine, *(new_job(f"{queue}{number}", queue=queue) for queue in "xy" for number in range(3)))
    assert claimed_ids(engine, queues=("x", "y")) == ["x0", "y0", "y1", "y2"]
    assert claimed_ids(engine, queues=("*",), now=NOW + WINDOW) == ["x1"]
    assert claimed_ids(engine, queues=("*",), now=NOW + WINDOW) == []
