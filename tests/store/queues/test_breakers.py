"""A queue whose runs fail one after the other by the fault of the machine stops; then one job tries."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast

import msgspec
import pytest

from holdfast.core.gates.gates import Closed, Verdict
from holdfast.core.job import Millis, StateName
from holdfast.core.jobs.requests import Claimed
from holdfast.core.jobs.settle import Broke, Outcome, Snoozed, StoppedByCancel, Yielded
from holdfast.core.messages.machines import TokenSetting
from holdfast.core.messages.webhooks import NewWebhook
from holdfast.core.rules.tokens import Tokens
from holdfast.core.settings.queue_changes import QueueChanges, QueueSetting
from holdfast.core.values.retry import Failure, FailureKind, RetryPolicy
from holdfast.store.engine import Changes, Engine, Tx
from holdfast.store.scripts.claiming.why import why
from holdfast.store.scripts.jobs.cancel import cancel_job
from holdfast.store.scripts.machines.tokens import note_tokens
from holdfast.store.scripts.maintenance.clockwork import next_moment
from holdfast.store.scripts.queues.queues import find_queue, list_queues, pause, resume, set_queue
from holdfast.store.scripts.runs.exchange import give_back
from holdfast.store.scripts.runs.finish import finish
from holdfast.store.scripts.sessions.sessions import note_stop_request
from holdfast.store.scripts.webhooks.webhooks import put_webhook
from holdfast.store.statements import Statement
from tests.store.acts import (
    DONE,
    FAILED,
    FAILED_FOR_GOOD,
    NOW,
    claim_one,
    claim_some,
    claimed_ids,
    end,
    let_time_pass,
    lose,
    new_job,
    open_session,
    put,
    put_one,
    report,
    select,
    settle,
    write,
)

OPEN_MS: Millis = 30_000
KILLED = Broke(Failure(FailureKind.INFRA, "SIGNAL_9", "it was killed"))
LATER = NOW + OPEN_MS
ONCE = RetryPolicy(infra=0)


def fill(engine: Engine, count: int = 20, queue: str = "default") -> None:
    put(engine, *(new_job(f"{queue}{number:02}", queue=queue, policy=ONCE) for number in range(count)))


def end_some(engine: Engine, outcome: Outcome, count: int, now: Millis = NOW, queue: str = "default") -> None:
    for run in claim_some(engine, count, now=now, queues=(queue,)):
        end(engine, run, outcome, now)


def trip(engine: Engine, now: Millis = NOW) -> None:
    """Open the breaker of the default queue."""
    fill(engine)
    end_some(engine, KILLED, 5, now)


def failures(engine: Engine, queue: str = "default") -> int:
    found = select(engine, "SELECT failures FROM queue_breakers WHERE queue = :queue", queue=queue)
    return found[0]["failures"] if found else 0


def gate(engine: Engine, job_id: str, now: Millis) -> Verdict:
    [found] = [gate for gate in engine.query(why, job_id, now).gates if gate.gate == "breaker"]
    return found


def alerts(engine: Engine) -> list[dict[str, Any]]:
    rows = select(engine, "SELECT name, attributes FROM events ORDER BY id")
    return [{"name": row["name"]} | msgspec.json.decode(row["attributes"]) for row in rows]


def subscribe(engine: Engine, *patterns: str) -> None:
    hook = NewWebhook(id="w", url="http://w.example", patterns=patterns, secret="a-secret-of-the-test")
    write(engine, put_webhook, hook, NOW)


def test_five_infra_failures_in_a_row_hold_the_queue_for_half_a_minute(engine: Engine) -> None:
    fill(engine)
    end_some(engine, KILLED, 4)
    assert len(claim_some(engine, 1)) == 1
    end_some(engine, KILLED, 1)
    assert claim_some(engine) == []
    assert claim_some(engine, now=LATER - 1) == []
    assert len(claim_some(engine, now=LATER)) == 1


@pytest.mark.parametrize("outcome", [DONE, FAILED, FAILED_FOR_GOOD, Snoozed(5)])
def test_a_run_that_ends_in_another_way_breaks_the_row(engine: Engine, outcome: Outcome) -> None:
    fill(engine)
    end_some(engine, KILLED, 4)
    end_some(engine, outcome, 1)
    end_some(engine, KILLED, 4)
    assert failures(engine) == 4
    assert len(claim_some(engine, 2)) == 2


def test_runs_that_were_stopped_say_nothing(engine: Engine) -> None:
    fill(engine)
    end_some(engine, KILLED, 4)
    end_some(engine, Yielded("asked to"), 1)
    end_some(engine, StoppedByCancel(), 1)
    end_some(engine, KILLED, 1)
    assert claim_some(engine) == []


def test_a_worker_that_dies_with_many_runs_is_one_incident_for_each_queue(engine: Engine) -> None:
    for queue in ("x", "y"):
        fill(engine, 8, queue)
    claim_some(engine, 12, session=open_session(engine, "s2"), queues=("x", "y"))
    write(engine, _lose_in_steps, "s2")
    assert (failures(engine, "x"), failures(engine, "y")) == (1, 1)


def _lose_in_steps(tx: Any, session: str) -> None:
    from holdfast.store.scripts.sessions.recover import recover

    while recover(tx, session, False, NOW, limit=3).more:
        pass


def test_nobody_is_charged_for_a_reboot_an_orderly_stop_or_a_claim_that_never_arrived(engine: Engine) -> None:
    fill(engine)
    claim_some(engine, 3, session=open_session(engine, "s2"))
    lose(engine, "s2", rebooted=True)
    claim_some(engine, 3, session=open_session(engine, "s3"))
    write(engine, note_stop_request, "s3", NOW)
    lose(engine, "s3")
    claim_some(engine, 3)
    write(engine, give_back, "s1", [], NOW)
    assert select(engine, "SELECT 1 FROM queue_breakers") == []


def test_five_workers_that_die_one_after_the_other_open_it(engine: Engine) -> None:
    fill(engine)
    for number in range(5):
        claim_some(engine, 3, session=open_session(engine, f"w{number}"))
        lose(engine, f"w{number}")
    assert claim_some(engine) == []


def test_one_job_probes_and_its_good_end_lets_all_others_go(engine: Engine) -> None:
    trip(engine)
    probe = claim_one(engine, now=LATER)
    assert claim_some(engine, now=LATER) == []
    assert claim_some(engine, session=open_session(engine, "s2"), queues=("*",), now=LATER + 1) == []
    end(engine, probe, now=LATER + 5)
    assert failures(engine) == 0
    assert len(claim_some(engine, now=LATER + 5)) == 14


def test_a_failure_of_its_own_closes_it_too(engine: Engine) -> None:
    trip(engine)
    end(engine, claim_one(engine, now=LATER), FAILED_FOR_GOOD, LATER)
    assert len(claim_some(engine, now=LATER)) == 14


def test_a_probe_that_is_killed_opens_it_once_more(engine: Engine) -> None:
    trip(engine)
    end(engine, claim_one(engine, now=LATER), KILLED, LATER + 5)
    assert claim_some(engine, now=LATER + 5 + OPEN_MS - 1) == []
    assert len(claim_some(engine, now=LATER + 5 + OPEN_MS)) == 1


def test_a_worker_that_dies_with_the_probe_opens_it_once_more(engine: Engine) -> None:
    trip(engine)
    claim_one(engine, session=open_session(engine, "s2"), now=LATER)
    lose(engine, "s2", LATER + 5)
    assert claim_some(engine, now=LATER + 6) == []
    assert engine.query(next_moment) == LATER + 5 + OPEN_MS


def test_a_worker_that_dies_with_others_leaves_the_probe_to_decide(engine: Engine) -> None:
    fill(engine)
    claim_some(engine, 2, session=open_session(engine, "old"))
    end_some(engine, KILLED, 5)
    probe = claim_one(engine, now=LATER)
    lose(engine, "old", LATER)
    end(engine, probe, now=LATER)
    assert failures(engine) == 0


def test_a_worker_that_dies_while_it_is_open_does_not_keep_it_open_for_longer(engine: Engine) -> None:
    fill(engine)
    claim_some(engine, 2, session=open_session(engine, "old"))
    end_some(engine, KILLED, 5)
    lose(engine, "old", LATER - 1)
    assert len(claim_some(engine, now=LATER)) == 1


@pytest.mark.parametrize("outcome", [Yielded("asked to"), StoppedByCancel()])
def test_after_a_probe_that_was_stopped_another_one_probes(engine: Engine, outcome: Outcome) -> None:
    trip(engine)
    probe = claim_one(engine, now=LATER)
    told: list[Changes] = []
    leave = engine.listen(told.append)
    end(engine, probe, outcome, LATER)
    settle(engine)
    leave()
    assert any("default" in changes.ready for changes in told)
    another = claim_some(engine, now=LATER)
    assert len(another) == 1
    end(engine, another[0], now=LATER)
    assert failures(engine) == 0


def test_a_probe_that_never_arrived_is_replaced_by_another(engine: Engine) -> None:
    trip(engine)
    claim_one(engine, now=LATER)
    write(engine, give_back, "s1", [], LATER)
    assert len(claim_some(engine, now=LATER)) == 1


def test_sessions_that_claim_at_the_same_time_start_one_probe(engine: Engine) -> None:
    trip(engine)
    names = [open_session(engine, f"w{number}") for number in range(6)]
    with ThreadPoolExecutor(len(names)) as threads:
        counts = list(threads.map(lambda name: len(claim_some(engine, 3, session=name, now=LATER)), names))
    assert sum(counts) == 1


def test_whoever_serves_the_queue_is_woken_when_it_may_try(engine: Engine) -> None:
    trip(engine)
    assert engine.query(next_moment) == LATER
    assert let_time_pass(engine, LATER - 1).promoted == 0
    assert let_time_pass(engine, LATER).promoted == 1
    assert engine.query(next_moment) is None


def test_the_gate_says_why_and_when_it_opens(engine: Engine) -> None:
    trip(engine)
    held = gate(engine, "default19", NOW + 5)
    assert isinstance(held, Closed)
    assert (held.now, held.opens_at) == ("SIGNAL_9: it was killed", LATER)
    assert "the last 5 runs of queue 'default' failed" in held.reason
    assert not isinstance(gate(engine, "default19", LATER), Closed)
    probe = claim_one(engine, now=LATER)
    behind = gate(engine, "default19", LATER)
    assert isinstance(behind, Closed)
    assert behind.now == f"job {probe.job_id} is running"


def test_others_go_on_while_one_queue_is_held(engine: Engine) -> None:
    trip(engine)
    put_one(engine, "other", queue="other")
    assert claimed_ids(engine, queues=("*",)) == ["other"]


def test_a_queue_has_the_breaker_that_is_set_for_it(engine: Engine) -> None:
    write(engine, set_queue, "default", QueueChanges(breaker=2, breaker_for_ms=5_000))
    fill(engine)
    end_some(engine, KILLED, 2)
    assert claim_some(engine, now=NOW + 4_999) == []
    assert len(claim_some(engine, now=NOW + 5_000)) == 1
    found = write(engine, set_queue, "default", QueueChanges(clear=(QueueSetting.BREAKER,)))
    assert (found.breaker, found.breaker_for_ms) == (5, OPEN_MS)


def test_without_a_breaker_nothing_is_held(engine: Engine) -> None:
    trip(engine)
    write(engine, set_queue, "default", QueueChanges(breaker=0))
    end_some(engine, KILLED, 10)
    assert len(claim_some(engine)) == 5
    assert select(engine, "SELECT 1 FROM queue_breakers") == []


def test_somebody_can_close_it_by_hand(engine: Engine) -> None:
    trip(engine)
    write(engine, pause, "default", None, NOW)
    write(engine, resume, "default", NOW)
    assert len(claim_some(engine)) == 15


def test_an_open_one_is_listed_with_its_queue(engine: Engine) -> None:
    assert engine.query(list_queues) == []
    trip(engine)
    [queue] = engine.query(list_queues)
    assert queue == engine.query(find_queue, "default")
    assert queue.tripped is not None
    assert (queue.tripped.failures, queue.tripped.half_opens_at) == (5, LATER)


def test_queues_of_the_system_have_none(engine: Engine) -> None:
    put(engine, *(new_job(f"j{number}", queue="holdfast.x", policy=ONCE) for number in range(9)))
    end_some(engine, KILLED, 8, queue="holdfast.x")
    assert len(claim_some(engine, queues=("holdfast.x",))) == 1


def test_failures_of_long_ago_are_forgotten(engine: Engine) -> None:
    fill(engine, 4, "old")
    end_some(engine, KILLED, 4, queue="old")
    fill(engine)
    end_some(engine, KILLED, 1, NOW + 86_400_001)
    assert (failures(engine, "old"), failures(engine)) == (0, 1)


def test_each_incident_and_each_change_is_told_to_who_listens(engine: Engine) -> None:
    subscribe(engine, "alert.*")
    trip(engine)
    let_time_pass(engine, LATER)
    end(engine, claim_one(engine, now=LATER), now=LATER)
    told = alerts(engine)
    assert [one["name"] for one in told] == ["alert.infra"] * 5 + ["alert.breaker"] * 3
    assert (told[0]["queue"], told[0]["code"], told[0]["job_id"]) == ("default", "SIGNAL_9", "default00")
    assert [one.get("state") for one in told[5:]] == ["open", "half-open", "closed"]
    assert told[5]["failures"] == "5"


def test_a_worker_that_dies_is_one_alert_for_each_queue(engine: Engine) -> None:
    subscribe(engine, "alert.infra")
    fill(engine)
    claim_some(engine, 3)
    lose(engine)
    [told] = alerts(engine)
    assert (told["queue"], told["runs"], told["session_id"]) == ("default", "3", "s1")


def test_a_job_that_is_parked_is_told_to_who_listens(engine: Engine) -> None:
    subscribe(engine, "alert.poison")
    write(engine, set_queue, "default", QueueChanges(breaker=0))
    put_one(engine, "bad", policy=RetryPolicy(infra=9, initial_ms=0))
    for number in range(3):
        claim_one(engine, session=open_session(engine, f"w{number}"))
        lose(engine, f"w{number}")
        let_time_pass(engine, NOW)
    [told] = [one for one in alerts(engine) if one["name"] == "alert.poison"]
    assert (told["job_id"], told["error_code"], told["state"]) == ("bad", "ERR_POISON", StateName.FAILED)


def test_cancelling_the_waiting_job_behind_a_probe_changes_nothing(engine: Engine) -> None:
    trip(engine)
    probe: Claimed = claim_one(engine, now=LATER)
    write(engine, cancel_job, "default19", LATER)
    assert claim_some(engine, now=LATER) == []
    end(engine, probe, now=LATER)
    assert len(claim_some(engine, now=LATER)) == 13


def test_one_job_probes_also_where_jobs_need_tokens(engine: Engine) -> None:
    write(engine, note_tokens, "node", TokenSetting(tokens=Tokens(cpu=12)), True, NOW)
    put(engine, *(new_job(f"j{number}", policy=ONCE, tokens=Tokens(cpu=1 + number % 2)) for number in range(12)))
    end_some(engine, KILLED, 5)
    assert len(claim_some(engine, now=LATER)) == 1
    assert claim_some(engine, now=LATER) == []


def test_while_one_queue_counts_nobody_looks_at_the_jobs_of_the_others(engine: Engine) -> None:
    fill(engine)
    end_some(engine, KILLED, 1)
    fill(engine, 3, "fine")
    runs = claim_some(engine, 3, queues=("fine",))
    looked_at: list[str] = []

    class Watched:
        def __init__(self, tx: Tx) -> None:
            self._tx = tx

        def __getattr__(self, name: str) -> Any:
            return self._one if name == "one" else getattr(self._tx, name)

        def _one(self, statement: Statement, *args: Any, **params: Any) -> Any:
            looked_at.append(statement.name)
            return self._tx.one(statement, *args, **params)

    def finish_watched(tx: Tx) -> None:
        finish(cast(Tx, Watched(tx)), [report(run) for run in runs], NOW)

    write(engine, finish_watched)
    assert looked_at == []
    assert failures(engine) == 1
