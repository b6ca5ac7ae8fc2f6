"""What ends or starts in one worker wakes the others, if that lets them start something."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from holdfast.core.jobs.requests import Claimed, ClaimRequest, QueueSlots
from holdfast.store.engine import Engine, Tx
from holdfast.store.scripts.claiming.claim import claim
from holdfast.store.scripts.queues.queues import set_limit
from holdfast.store.scripts.runs.exchange import exchange
from holdfast.store.scripts.runs.finish import finish
from holdfast.store.scripts.sessions.recover import recover
from tests.store.acts import NOW, claim_one, let_time_pass, lose, new_job, open_session, put, put_one, report, write

LATE = NOW + 10 * 60_000


def woken(engine: Engine, script: Callable[..., Any], *args: Any) -> set[str]:
    """The queues whose workers are woken by a script."""

    def told(tx: Tx) -> set[str]:
        script(tx, *args)
        return set(tx.changes.ready)

    return write(engine, told)


def asking(*queues: str, session: str = "s1", tasks: tuple[str, ...] = ("t",), slots: int = 5) -> ClaimRequest:
    """What a worker asks for."""
    lanes = tuple(QueueSlots(queue, slots) for queue in queues)
    return ClaimRequest(session_id=session, slots=slots, queues=lanes, tasks=tasks)


def woken_by_the_end(engine: Engine, run: Claimed, request: ClaimRequest) -> set[str]:
    """The same for the end of a run, whose worker asks for more."""
    return woken(engine, exchange, [report(run)], [], request, None, NOW)


def test_the_end_of_a_run_lets_another_worker_start_a_job_of_a_full_queue(engine: Engine) -> None:
    write(engine, set_limit, "default", 1)
    put(engine, new_job("first"), new_job("of another task", task="other"))
    assert woken_by_the_end(engine, claim_one(engine), asking("default")) == {"default"}


def test_nobody_is_woken_for_the_job_that_the_same_worker_takes(engine: Engine) -> None:
    write(engine, set_limit, "default", 1)
    put(engine, new_job("first"), new_job("second"), new_job("third"))
    assert woken_by_the_end(engine, claim_one(engine), asking("default")) == set()


def test_the_end_of_a_run_lets_another_worker_start_the_next_generation_from_another_queue(engine: Engine) -> None:
    put_one(engine, "first", subject="a::b::c")
    run = claim_one(engine)
    put_one(engine, "next", subject="a::b::c", queue="elsewhere")
    assert woken_by_the_end(engine, run, asking("default")) == {"elsewhere"}


def test_whoever_is_kept_empty_for_a_job_that_runs_alone_is_woken_when_it_starts_elsewhere(engine: Engine) -> None:
    put(engine, *[new_job(name) for name in ("suspect one", "suspect two")])
    write(engine, claim, asking("default", slots=2), NOW)
    lose(engine)
    open_session(engine, "s2")
    put_one(engine, "patient", queue="other")
    assert woken(engine, claim, asking("default", session="s2", slots=1), NOW) >= {"other"}


def test_whoever_tells_the_end_of_a_run_by_itself_wakes_others_too(engine: Engine) -> None:
    write(engine, set_limit, "default", 1)
    put(engine, new_job("first", subject="a::b::c"), new_job("second"))
    run = claim_one(engine)
    put_one(engine, "next", subject="a::b::c", queue="elsewhere")
    assert woken(engine, finish, [report(run)], NOW) == {"default", "elsewhere"}


def test_a_worker_that_ran_one_alone_is_woken_for_others_when_its_end_is_told_by_itself(engine: Engine) -> None:
    put_one(engine, "suspect")
    claim_one(engine, session=open_session(engine, "s2"))
    lose(engine, "s2")
    let_time_pass(engine, LATE)
    put_one(engine, "beside", queue="other", now=LATE)
    run = claim_one(engine, now=LATE)
    assert write(engine, claim, asking("other"), LATE) == []
    assert woken(engine, finish, [report(run)], LATE) == {"other"}


def test_what_a_dead_process_kept_from_starting_is_told_to_others(engine: Engine) -> None:
    write(engine, set_limit, "default", 1)
    put(engine, new_job("first", subject="a::b::c"), new_job("second"))
    claim_one(engine)
    put_one(engine, "next", subject="a::b::c", queue="elsewhere")
    assert woken(engine, recover, "s1", False, NOW) == {"default", "elsewhere"}
