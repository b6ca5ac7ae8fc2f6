"""The gates of a queue: each gives slots or a reason. The claim takes the slots, and `why` has words for the reason."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.core.gates.breaker import Breaker
from holdfast.core.gates.gate_facts import GateFacts, MachineFacts, ReservationFacts
from holdfast.core.gates.gates import Closed, look
from holdfast.core.gates.pressure import Holds, MachineLimits
from holdfast.core.gates.queue import QueueClass
from holdfast.core.gates.queue_gates import (
    NO_LIMIT,
    QUEUE_GATES,
    HoldReason,
    QueueFacts,
    QueueState,
    breaker,
    free_slots,
    pressure,
)
from holdfast.core.job import Queued
from holdfast.core.jobs.stored_job import Job
from holdfast.core.values.rate import Starts

NOW = 1_700_000_000_000
JOB = Job(
    id="j",
    number=1,
    task="t",
    queue="q",
    state=Queued(NOW),
    payload="null",
    priority=0,
    position=100,
    tenant="default",
    created_at=NOW,
)

moments = st.none() | st.sampled_from((NOW - 1, NOW, NOW + 1))
breakers = st.just((None, None)) | st.tuples(st.just(NOW - 1), st.sampled_from((NOW - 1, NOW, NOW + 1)))
rates = st.just((None, None)) | st.tuples(st.integers(1, 3), st.just(1_000))
states = st.builds(
    lambda opened, rate, **rest: QueueState(
        opened_at=opened[0], half_opens_at=opened[1], rate_limit=rate[0], rate_window_ms=rate[1], **rest
    ),
    breakers,
    rates,
    paused_at=moments,
    concurrency=st.none() | st.integers(0, 3),
    running=st.integers(0, 4),
    reservation=st.none() | st.just("r"),
    is_probing=st.sampled_from((None, 1)),
)
facts = st.builds(
    QueueFacts,
    name=st.sampled_from(("q", "holdfast.maintenance")),
    state=states,
    starts=st.builds(Starts, st.just(NOW), st.integers(0, 4)),
    queue_class=st.sampled_from(QueueClass),
    machine=st.builds(
        MachineLimits,
        holds=st.sampled_from(Holds),
        pull_interval_ms=st.sampled_from((0, 100)),
        pulls_at=moments,
    ),
)


def closed_gates(queue: QueueFacts) -> set[str]:
    """The gates that `why` calls closed, where one worker on one machine would take the job."""
    pressed = pressure(queue, NOW)
    said = GateFacts(
        now=NOW,
        queue=queue,
        reserved=ReservationFacts("ann", "q", NOW + 1),
        breaker=Breaker(5, NOW - 1, "broken", NOW - 1, NOW),
        machines=(MachineFacts("m", True, True, "", "", pressed is HoldReason.MACHINE_RESTS, "it presses"),),
        pulls_at=NOW + 1 if pressed is HoldReason.PULLS_LATER else None,
    )
    return {gate.gate for gate in look(JOB, said) if isinstance(gate, Closed)}


@given(facts)
def test_each_gate_gives_slots_or_a_reason(queue: QueueFacts) -> None:
    given_ = [gate(queue, NOW) for gate in QUEUE_GATES.values()]
    assert all(isinstance(slots, HoldReason) or slots > 0 for slots in given_)
    if any(isinstance(slots, HoldReason) for slots in given_):
        assert free_slots(QUEUE_GATES.values(), queue, NOW) == 0
    else:
        assert free_slots(QUEUE_GATES.values(), queue, NOW) == min(slots for slots in given_ if isinstance(slots, int))


@given(facts)
def test_a_gate_is_closed_in_words_where_it_gives_a_reason_and_nowhere_else(queue: QueueFacts) -> None:
    shut = {name for name, gate in QUEUE_GATES.items() if isinstance(gate(queue, NOW), HoldReason)}
    assert closed_gates(queue) == shut


@given(facts)
def test_a_job_that_waits_for_nothing_else_is_held_where_its_queue_has_no_slot(queue: QueueFacts) -> None:
    assert bool(closed_gates(queue)) == (free_slots(QUEUE_GATES.values(), queue, NOW) == 0)


@pytest.mark.parametrize(
    ("opened_at", "half_opens_at", "is_probing", "slots"),
    [
        (None, None, None, NO_LIMIT),
        (NOW, NOW + 1, None, HoldReason.BREAKER_OPEN),
        (NOW - 10, NOW, None, 1),
        (NOW - 10, NOW, 1, HoldReason.PROBE_RUNNING),
    ],
)
def test_a_breaker_lets_one_job_probe_after_its_time(
    opened_at: int | None, half_opens_at: int | None, is_probing: int | None, slots: int | HoldReason
) -> None:
    state = QueueState(opened_at=opened_at, half_opens_at=half_opens_at, is_probing=is_probing)
    assert breaker(QueueFacts("q", state), NOW) == slots
