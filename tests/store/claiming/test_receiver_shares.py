"""A receiver of webhooks has a share of the slots, so that one that hangs keeps nobody else's deliveries waiting."""

from __future__ import annotations

from collections import Counter

import pytest

from holdfast.core.gates.gates import Closed
from holdfast.core.jobs.requests import Claimed, ClaimRequest, QueueSlots
from holdfast.core.jobs.settle import Completed
from holdfast.core.messages.sessions import Offer
from holdfast.core.messages.webhooks import NewWebhook
from holdfast.core.rules.tokens import Tokens
from holdfast.core.webhooks.webhook import WEBHOOK, WEBHOOK_QUEUE, receiver_of, share_of_receiver
from holdfast.store.engine import Engine
from holdfast.store.scripts.claiming.claim import claim
from holdfast.store.scripts.claiming.why import why
from holdfast.store.scripts.webhooks.deliveries import send_test
from holdfast.store.scripts.webhooks.webhooks import put_webhook
from tests.store.acts import NOW, QUEUE, TASK, claim_some, end, new_job, open_session, put, select, write

SLOTS = 16
EACH = 2


def deliveries(engine: Engine, name: str, count: int, url: str | None = None) -> list[str]:
    """Deliveries to a receiver of this name; their jobs."""
    url = f"https://{name}.example/in" if url is None else url
    made = NewWebhook(id=f"w-{name}", url=url, patterns=("x",), name=name, secret="a-secret-of-ours")
    write(engine, put_webhook, made, NOW)
    return [write(engine, send_test, name, NOW).job_id for _ in range(count)]


def claimed(engine: Engine, free: int) -> list[Claimed]:
    """What a worker takes that has so many free slots for deliveries."""
    return claim_some(engine, free, queues=(WEBHOOK_QUEUE,), tasks=(WEBHOOK,))


def receivers(engine: Engine, runs: list[Claimed]) -> Counter[str]:
    """How many of these runs each receiver has."""
    names = {row["id"]: row["tenant"] for row in select(engine, "SELECT id, tenant FROM jobs")}
    return Counter(names[run.job_id] for run in runs)


def test_a_receiver_has_a_share_and_the_others_have_the_rest(engine: Engine) -> None:
    deliveries(engine, "slow", 50)
    assert receivers(engine, claimed(engine, SLOTS)) == {"webhook::slow.example:443": EACH}
    assert claimed(engine, SLOTS - EACH) == []
    deliveries(engine, "quick", 50)
    for left in (14, 14, 14):
        runs = claimed(engine, left)
        assert receivers(engine, runs) == {"webhook::quick.example:443": EACH}
        for run in runs:
            end(engine, run, Completed("{}"))


def test_what_is_over_the_share_goes_on_when_a_delivery_ends(engine: Engine) -> None:
    first, second, third = deliveries(engine, "slow", 3)
    runs = claimed(engine, SLOTS)
    assert [run.job_id for run in runs] == [first, second]
    end(engine, runs[0], Completed("{}"))
    assert [run.job_id for run in claimed(engine, SLOTS - 1)] == [third]


def test_webhooks_to_one_host_and_port_share(engine: Engine) -> None:
    deliveries(engine, "a", 5, "https://hooks.example/a")
    deliveries(engine, "b", 5, "https://HOOKS.example:443/b?c=d")
    deliveries(engine, "c", 5, "https://hooks.example:8443/c")
    runs = claimed(engine, SLOTS)
    assert receivers(engine, runs) == {"webhook::hooks.example:443": EACH, "webhook::hooks.example:8443": EACH}


def test_whoever_comes_behind_many_that_have_their_share_is_found(engine: Engine) -> None:
    for number in range(7):
        deliveries(engine, f"slow{number}", 5)
    assert len(claimed(engine, SLOTS)) == 7 * EACH
    [job_id] = deliveries(engine, "quick", 1)
    assert [run.job_id for run in claimed(engine, 1)] == [job_id]


def test_shares_hold_beside_jobs_that_take_tokens(engine: Engine, here: str) -> None:
    put(engine, new_job("heavy", tokens=Tokens(cpu=1)))
    deliveries(engine, "slow", 10)
    deliveries(engine, "quick", 1)
    lanes = (QueueSlots(QUEUE, 1), QueueSlots(WEBHOOK_QUEUE, SLOTS))
    request = ClaimRequest(session_id=here, slots=SLOTS + 1, queues=lanes, tasks=(TASK, WEBHOOK), worker_id="w1")
    runs = write(engine, claim, request, NOW)
    expected = {"default": 1, "webhook::slow.example:443": EACH, "webhook::quick.example:443": 1}
    assert receivers(engine, runs) == expected


def test_why_says_that_a_receiver_has_its_share(engine: Engine) -> None:
    open_session(engine, "worker", offer=Offer("w", "w", (WEBHOOK,), (WEBHOOK_QUEUE,), SLOTS))
    *_, last = deliveries(engine, "slow", 3)
    claim_some(engine, SLOTS, queues=(WEBHOOK_QUEUE,), tasks=(WEBHOOK,), session="worker")
    [closed] = [gate for gate in write(engine, why, last, NOW).gates if isinstance(gate, Closed)]
    assert closed.gate == "tenant's turn"
    assert closed.reason == "2 jobs of its tenant 'webhook::slow.example:443' may run at once, and so many do"
    assert closed.needs == "the end of one of these"


def test_other_queues_have_no_shares(engine: Engine) -> None:
    put(engine, *[new_job(f"j{number}", tenant="a") for number in range(20)])
    assert len(claim_some(engine, 16)) == 16


@pytest.mark.parametrize(("slots", "each"), [(1, 1), (8, 1), (9, 2), (10, 2), (64, 8)])
def test_a_share_is_an_eighth_and_at_least_one(slots: int, each: int) -> None:
    assert share_of_receiver(slots) == each


def test_a_receiver_with_a_long_name_has_a_name_all_the_same() -> None:
    host = ".".join(["a" * 60] * 4)
    assert len(receiver_of(f"https://{host}/")) <= 200
    assert receiver_of(f"https://{host}/") != receiver_of(f"https://{host}:444/")
