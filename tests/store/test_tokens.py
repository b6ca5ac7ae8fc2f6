"""Tokens: what a machine has is shared out with the claim, never twice, and who needs much of it is not forgotten."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from holdfast.core.errors import InvalidInput, NotFound
from holdfast.core.gates import Closed
from holdfast.core.job import JobId, Millis, StateName
from holdfast.core.requests import Claimed, ClaimRequest, NewJob
from holdfast.core.retry import RetryMode, RetryPolicy
from holdfast.core.tokens import Tokens
from holdfast.store.engine import Changes, Engine
from holdfast.store.scripts import sessions
from holdfast.store.scripts.cancel import cancel_job
from holdfast.store.scripts.exchange import exchange
from holdfast.store.scripts.queues import pause
from holdfast.store.scripts.reorder import set_priority
from holdfast.store.scripts.tokens import NodeTokens, TokenSetting, list_tokens, note_tokens, set_tokens
from holdfast.store.scripts.why import why
from tests.store import acts
from tests.store.acts import (
    FAILED,
    NOW,
    TASK,
    claim_one,
    claim_some,
    claimed_ids,
    end,
    job,
    let_time_pass,
    lose,
    put,
    report,
    select,
    state,
    write,
)

KINDS = ("cpu", "gpu", "io")
HAS = Tokens(cpu=4, gpu=1, io=2)
LATE = NOW + 30_000


def worker(
    engine: Engine,
    session: str,
    node: str = "node",
    *,
    has: Tokens = HAS,
    queues: tuple[str, ...] = ("default",),
    kind: str = "worker",
) -> str:
    """A worker begins on a machine that has these tokens."""
    offer = sessions.Offer(f"w of {session}", "w", (TASK, "other"), queues, 100)
    row = sessions.NewSession(session, kind, node, "boot", 1, None, TokenSetting(tokens=has))
    write(engine, sessions.open_session, row, offer, NOW)
    return session


@pytest.fixture
def here(engine: Engine) -> str:
    """A worker on a machine with 4 cpu, 1 gpu and 2 io."""
    return worker(engine, "here")


def new_job(job_id: JobId, **options: Any) -> NewJob:
    """A request for a job that needs so much of each kind."""
    tokens = Tokens(**{kind: options.pop(kind) for kind in KINDS if kind in options})
    return acts.new_job(job_id, tokens=tokens, **options)


def put_one(engine: Engine, job_id: JobId, now: Millis = NOW, **options: Any) -> None:
    """Enqueue such a job."""
    put(engine, new_job(job_id, **options), now=now)


def in_use(engine: Engine, node: str = "node") -> Tokens:
    """What runs use on a machine."""
    return of_node(engine, node).in_use


def of_node(engine: Engine, node: str = "node") -> NodeTokens:
    """A machine and its tokens."""
    return next(found for found in engine.query(list_tokens) if found.node == node)


def passed_since(engine: Engine, job_id: JobId) -> Millis | None:
    """Since when others have passed a job."""
    [found] = select(engine, "SELECT tokens_since FROM jobs WHERE id = :id", id=job_id)
    return found["tokens_since"]  # type: ignore[no-any-return]


def told_of(engine: Engine, act: Callable[[], object]) -> set[str]:
    """The queues that an act wakes."""
    heard = Changes()
    stop = engine.listen(heard.merge)
    act()
    stop()
    return heard.ready


def exchange_end(engine: Engine, session: str, run: Claimed) -> None:
    """A worker reports the end of a run, and can take nothing else."""
    request = ClaimRequest(session_id=session, slots=0, queues=(), tasks=(TASK,))
    write(engine, exchange, [report(run)], [], request, None, NOW)


def test_as_many_start_as_fit(engine: Engine, here: str) -> None:
    put(engine, *(new_job(f"j{n}", cpu=3 if n == 0 else 1) for n in range(4)))
    assert claimed_ids(engine, session=here) == ["j0", "j1"]
    assert in_use(engine) == Tokens(cpu=4)


def test_each_kind_is_counted_by_itself(engine: Engine, here: str) -> None:
    put(engine, new_job("g1", gpu=1, cpu=1), new_job("g2", gpu=1), new_job("io", io=2), new_job("c", cpu=3))
    assert claimed_ids(engine, session=here) == ["g1", "io", "c"]


def test_jobs_without_tokens_are_not_counted(engine: Engine, here: str) -> None:
    put(engine, new_job("all", cpu=4), *(new_job(f"j{n}") for n in range(5)), new_job("more", cpu=1))
    assert claimed_ids(engine, session=here) == ["all", "j0", "j1", "j2", "j3", "j4"]


def test_what_a_run_used_is_free_when_it_ends(engine: Engine, here: str) -> None:
    put(engine, new_job("a", cpu=4), new_job("b", cpu=4))
    end(engine, claim_one(engine, session=here))
    assert claimed_ids(engine, session=here) == ["b"]


def test_a_failed_try_gives_its_tokens_back_and_takes_them_again(engine: Engine, here: str) -> None:
    put(engine, new_job("a", cpu=4, policy=RetryPolicy(retries=1, initial_ms=0)))
    end(engine, claim_one(engine, session=here), FAILED)
    assert in_use(engine) == Tokens()
    let_time_pass(engine, NOW)
    claim_one(engine, session=here)
    assert in_use(engine) == Tokens(cpu=4)


def test_the_next_link_of_a_chain_needs_the_same(engine: Engine, here: str) -> None:
    put_one(engine, "a", cpu=3, policy=RetryPolicy(retries=1, initial_ms=0, mode=RetryMode.CHAIN))
    end(engine, claim_one(engine, session=here), FAILED)
    let_time_pass(engine, NOW)
    claim_one(engine, session=here)
    assert in_use(engine) == Tokens(cpu=3)


def test_what_a_dead_session_used_is_free_again(engine: Engine, here: str) -> None:
    worker(engine, "other")
    put(engine, new_job("a", cpu=4), new_job("b", cpu=4))
    claim_one(engine, session=here)
    assert claimed_ids(engine, session="other") == []
    lose(engine, here)
    assert in_use(engine) == Tokens()
    assert len(claim_some(engine, session="other")) == 1


def test_workers_on_one_machine_share_its_tokens(engine: Engine, here: str) -> None:
    worker(engine, "beside")
    worker(engine, "elsewhere", "far")
    put(engine, *(new_job(f"j{n}", cpu=3) for n in range(3)))
    assert claimed_ids(engine, session=here) == ["j0"]
    assert claimed_ids(engine, session="beside") == []
    assert claimed_ids(engine, session="elsewhere") == ["j1"]


def test_a_machine_of_which_nothing_is_known_takes_no_job_with_tokens(engine: Engine) -> None:
    put(engine, new_job("a", cpu=1), new_job("b"))
    assert claimed_ids(engine) == ["b"]


def test_wild_queues_share_what_is_there_by_priority_and_age(engine: Engine, here: str) -> None:
    put_one(engine, "old", queue="q1", cpu=2)
    put_one(engine, "high", queue="q2", cpu=3, priority=5, now=NOW + 1)
    put_one(engine, "small", queue="q3", cpu=1, now=NOW + 2)
    assert claimed_ids(engine, session=here, queues=("*",)) == ["high", "small"]


def test_lanes_of_the_machine_and_tokens_go_together(engine: Engine, here: str) -> None:
    put(engine, new_job("idle", cpu=1, wait_for_idle=True), new_job("now", cpu=1))
    assert claimed_ids(engine, session=here) == ["now"]


def test_tenants_take_fair_turns_with_tokens_as_without(engine: Engine, here: str) -> None:
    for n in range(6):
        put(engine, *(new_job(f"{tenant}{n}", tenant=tenant, cpu=1) for tenant in ("x", "y", "z")))
    order = []
    while runs := claim_some(engine, 3, session=here):
        order += [run.job_id for run in runs]
        for run in runs:
            end(engine, run)
    assert order == [f"{tenant}{n}" for n in range(6) for tenant in ("x", "y", "z")]


def test_a_job_that_does_not_fit_lets_smaller_ones_pass_for_a_while(engine: Engine, here: str) -> None:
    put(engine, new_job("first", cpu=2), new_job("big", cpu=4), new_job("small", cpu=1))
    assert claimed_ids(engine, session=here) == ["first", "small"]
    assert passed_since(engine, "big") == NOW
    assert passed_since(engine, "small") is None


def test_after_the_timeout_room_is_kept_for_it_and_it_starts_first(engine: Engine, here: str) -> None:
    put(engine, new_job("first", cpu=2, priority=9), new_job("big", cpu=4))
    first = claim_one(engine, session=here)
    assert claimed_ids(engine, session=here) == []
    put(engine, new_job("late", cpu=1, priority=8), new_job("plain"), new_job("io", io=1), now=LATE)
    assert claimed_ids(engine, session=here, now=LATE) == ["plain", "io"]
    end(engine, first, now=LATE)
    assert claimed_ids(engine, 1, session=here, now=LATE) == ["big"]
    assert passed_since(engine, "big") is None


def test_a_stream_of_small_jobs_does_not_keep_a_big_one_waiting(engine: Engine, here: str) -> None:
    worker(engine, "beside", queues=("q2",))
    running = []
    put_one(engine, "big", cpu=4, queue="q2")
    for step in range(20):
        now = NOW + step * 10_000
        put_one(engine, f"a{step}", cpu=2, now=now)
        put_one(engine, f"b{step}", cpu=2, now=now)
        if step == 0:
            running += claim_some(engine, session="here", now=now)
        assert state(engine, "big") is StateName.QUEUED or step > 5
        runs = claim_some(engine, session="beside", queues=("q2",), now=now)
        if runs:
            assert [run.job_id for run in runs] == ["big"]
            return
        if running:
            end(engine, running.pop(0), now=now)
        running += claim_some(engine, 1, session="here", now=now)
    pytest.fail("the big job never started")


def test_its_priority_grows_once(engine: Engine, here: str) -> None:
    put_one(engine, "first", cpu=1)
    claim_one(engine, session=here)
    put_one(engine, "big", cpu=4, priority=3)
    for now in (NOW, LATE - 1):
        claim_some(engine, session=here, now=now)
    assert job(engine, "big").priority == 3
    for now in (LATE, LATE + 1, LATE + 60_000):
        claim_some(engine, session=here, now=now)
    assert job(engine, "big").priority == 4


def test_nobody_keeps_room_for_a_job_that_cannot_start(engine: Engine, here: str) -> None:
    put(engine, new_job("first", cpu=2), new_job("big", cpu=4, queue="q2"))
    worker(engine, "beside", queues=("q2",))
    claim_some(engine, session=here)
    assert claimed_ids(engine, session="beside", queues=("q2",)) == []
    put_one(engine, "small", cpu=1, now=LATE)
    assert claimed_ids(engine, session=here, now=LATE) == []
    write(engine, pause, "q2", None, LATE)
    assert claimed_ids(engine, session=here, now=LATE) == ["small"]


def test_nobody_keeps_room_for_a_job_without_a_worker(engine: Engine, here: str) -> None:
    put(engine, new_job("first", cpu=2), new_job("big", cpu=4, queue="q2"))
    worker(engine, "beside", queues=("q2",))
    claim_some(engine, session=here)
    claim_some(engine, session="beside", queues=("q2",))
    lose(engine, "beside")
    put_one(engine, "small", cpu=1, now=LATE)
    assert claimed_ids(engine, session=here, now=LATE) == ["small"]


def test_a_job_that_no_machine_could_hold_is_passed_by_all(engine: Engine, here: str) -> None:
    put(engine, new_job("never", cpu=5), *(new_job(f"j{n}", cpu=1) for n in range(2)))
    assert claimed_ids(engine, session=here) == ["j0", "j1"]
    assert claimed_ids(engine, session=here, now=LATE) == []
    assert passed_since(engine, "never") is None


def test_a_hundred_big_jobs_at_the_head_do_not_hide_a_small_one_of_another_tenant(engine: Engine, here: str) -> None:
    put_one(engine, "first", cpu=1)
    claim_one(engine, session=here)
    put(engine, *(new_job(f"b{n}", cpu=4, tenant="big") for n in range(100)))
    put_one(engine, "small", cpu=1, tenant="small")
    assert claimed_ids(engine, session=here) == ["small"]


def test_whoever_moves_a_job_takes_its_mark(engine: Engine, here: str) -> None:
    put(engine, new_job("first", cpu=2), new_job("big", cpu=4))
    claim_some(engine, session=here)
    write(engine, set_priority, "big", -5)
    assert passed_since(engine, "big") is None


def test_a_mark_of_a_clock_that_was_ahead_is_set_anew(engine: Engine, here: str) -> None:
    put(engine, new_job("first", cpu=2), new_job("big", cpu=4), now=NOW)
    claim_some(engine, session=here, now=NOW + 10**9)
    claim_some(engine, session=here, now=NOW)
    assert passed_since(engine, "big") == NOW


def test_the_end_of_a_run_with_tokens_wakes_those_who_wait_for_some(engine: Engine, here: str) -> None:
    put(engine, new_job("a", cpu=4), new_job("b", cpu=1, queue="q2"), new_job("c", queue="q3"))
    run = claim_one(engine, session=here)
    done = told_of(engine, lambda: exchange_end(engine, here, run))
    assert done == {"q2"}


def test_a_lost_session_wakes_those_who_wait_for_its_tokens(engine: Engine, here: str) -> None:
    put(engine, new_job("a", cpu=4), new_job("b", cpu=1, queue="q2"))
    claim_one(engine, session=here)
    assert "q2" in told_of(engine, lambda: lose(engine, here))


def test_a_cancelled_job_keeps_no_room(engine: Engine, here: str) -> None:
    put(engine, new_job("first", cpu=2), new_job("big", cpu=4))
    claim_some(engine, session=here)
    put_one(engine, "small", cpu=1, now=LATE)
    assert claimed_ids(engine, session=here, now=LATE) == []
    assert "default" in told_of(engine, lambda: write(engine, cancel_job, "big", LATE))
    assert claimed_ids(engine, session=here, now=LATE) == ["small"]


def test_a_suspect_waits_for_room_that_others_use_and_holds_nobody_up(engine: Engine, here: str) -> None:
    worker(engine, "other")
    put_one(engine, "suspect", cpu=4)
    claim_one(engine, session=here)
    lose(engine, here)
    worker(engine, "third")
    later = NOW + 3_600_000
    let_time_pass(engine, later)
    put(engine, new_job("a", cpu=1, queue="q2"), new_job("b", cpu=1, queue="q2"), now=later)
    beside = claim_one(engine, session="third", queues=("q2",), now=later)
    # 3 of 4 are free: it does not fit, and whoever asks goes on with others meanwhile.
    assert claimed_ids(engine, session="other", queues=("default", "q2"), now=later) == ["b"]
    end(engine, beside, now=later)
    assert claimed_ids(engine, session="third", now=later) == []
    lose(engine, "other", later)
    assert claimed_ids(engine, session="third", now=later) == ["suspect"]


class TestGate:
    """What `why` says about tokens."""

    def closed(self, engine: Engine, job_id: JobId, now: Millis = NOW) -> str:
        [gate] = [gate for gate in engine.query(why, job_id, now).gates if gate.gate == "tokens"]
        return f"{gate.reason}; {gate.now}" if isinstance(gate, Closed) else "open"

    def test_it_says_what_is_in_use(self, engine: Engine, here: str) -> None:
        put(engine, new_job("first", cpu=3), new_job("big", cpu=2, io=1))
        claim_some(engine, session=here)
        assert self.closed(engine, "big") == "it needs 2 cpu, 1 io; 3 of 4 cpu, 0 of 2 io in use on node"

    def test_it_says_that_no_machine_has_so_many(self, engine: Engine, here: str) -> None:
        put_one(engine, "never", gpu=2)
        said = "it needs 2 gpu, more than any machine has that could run it; node has 4 cpu, 1 gpu, 2 io"
        assert self.closed(engine, "never") == said

    def test_it_names_the_job_that_room_is_kept_for(self, engine: Engine, here: str) -> None:
        put(engine, new_job("first", cpu=2), new_job("big", cpu=4))
        claim_some(engine, session=here)
        put_one(engine, "small", cpu=1, now=LATE)
        assert self.closed(engine, "small", NOW) == "open"
        said = "it needs 1 cpu, which are kept for a job that has waited for longer; job big waits for 4 cpu on node"
        assert self.closed(engine, "small", LATE) == said
        assert self.closed(engine, "big", LATE) == "it needs 4 cpu; 2 of 4 cpu in use on node"

    def test_it_is_open_while_one_machine_has_room(self, engine: Engine, here: str) -> None:
        worker(engine, "far", "far")
        put(engine, new_job("first", cpu=4), new_job("second", cpu=4))
        claim_some(engine, session=here)
        assert self.closed(engine, "second") == "open"


class TestCapacity:
    """How many tokens a machine has, and who says so."""

    def test_the_first_session_says_what_its_machine_has(self, engine: Engine, here: str) -> None:
        found = of_node(engine)
        assert (found.capacity, found.set_by, found.timeout_ms) == (HAS, "default", 30_000)

    @pytest.mark.parametrize(
        ("first", "then", "is_daemon", "has", "by"),
        [
            ("default", "default", False, 2, "default"),
            ("default", "settings", True, 2, "settings"),
            ("settings", "default", False, 1, "settings"),
            ("settings", "default", True, 2, "default"),
            ("settings", "settings", True, 2, "settings"),
        ],
    )
    def test_what_somebody_decided_stands_against_what_was_found_out(
        self, engine: Engine, first: str, then: str, is_daemon: bool, has: int, by: str
    ) -> None:
        for cpu, how, daemon in ((1, first, True), (2, then, is_daemon)):
            setting = TokenSetting(tokens=Tokens(cpu=cpu), is_default=how == "default")
            write(engine, note_tokens, "m", setting, daemon, NOW)
        found = of_node(engine, "m")
        assert (found.capacity.cpu, found.set_by) == (has, by)

    def test_a_program_with_few_cores_leaves_them_to_those_who_run(self, engine: Engine, here: str) -> None:
        few = TokenSetting(tokens=Tokens(cpu=1))
        write(engine, note_tokens, "node", few, False, NOW)
        assert of_node(engine).capacity == HAS
        write(engine, note_tokens, "node", few, True, NOW)
        assert of_node(engine).capacity == few.tokens

    def test_what_was_set_by_hand_stays_until_settings_say_otherwise(self, engine: Engine, here: str) -> None:
        write(engine, set_tokens, NOW, cpu=9)
        write(engine, note_tokens, "node", TokenSetting(tokens=HAS), True, NOW)
        assert of_node(engine).capacity == Tokens(cpu=9, gpu=1, io=2)

    def test_more_tokens_wake_those_who_wait_for_some(self, engine: Engine, here: str) -> None:
        put_one(engine, "big", cpu=8)
        assert claimed_ids(engine, session=here) == []
        assert told_of(engine, lambda: write(engine, set_tokens, NOW, cpu=8)) == {"default"}
        assert claimed_ids(engine, session=here) == ["big"]

    def test_fewer_tokens_let_runs_go_on_and_start_none(self, engine: Engine, here: str) -> None:
        put(engine, new_job("a", cpu=4), new_job("b", cpu=1))
        claim_one(engine, session=here)
        write(engine, set_tokens, NOW, cpu=1)
        assert claimed_ids(engine, session=here) == []

    @pytest.mark.parametrize("bad", [{"cpu": -1}, {"gpu": 10**7}, {"timeout_ms": -5}])
    def test_numbers_that_make_no_sense_are_refused(self, engine: Engine, here: str, bad: dict[str, Any]) -> None:
        with pytest.raises(InvalidInput):
            write(engine, set_tokens, NOW, **bad)
        assert of_node(engine).capacity == HAS

    def test_a_machine_that_nobody_knows_is_named(self, engine: Engine, here: str) -> None:
        with pytest.raises(NotFound, match="known are: node"):
            write(engine, set_tokens, NOW, node="nowhere", cpu=1)

    def test_among_several_machines_one_must_be_named(self, engine: Engine, here: str) -> None:
        worker(engine, "far", "far")
        with pytest.raises(InvalidInput, match="far, node"):
            write(engine, set_tokens, NOW, cpu=1)


def test_a_job_shows_what_it_needs(engine: Engine) -> None:
    put_one(engine, "a", cpu=2, io=1)
    assert job(engine, "a").tokens == Tokens(cpu=2, io=1)
