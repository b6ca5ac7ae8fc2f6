"""What people do to jobs that have ended or wait: run them again, one, many or a whole group, cancel and move them."""

from __future__ import annotations

from contextlib import suppress

from holdfast.core.errors import Conflict
from holdfast.core.job import StateName
from holdfast.core.jobs.order import GAP
from holdfast.core.jobs.requests import Claimed, JobFilter, Report
from holdfast.core.messages.jobs import BulkAction
from holdfast.core.messages.webhooks import NewWebhook
from holdfast.core.values.group import GroupMode, OnFailure
from holdfast.core.values.subject import DEFAULT_TENANT
from holdfast.store.engine import Engine
from holdfast.store.scripts.groups.groups import create_group
from holdfast.store.scripts.jobs.bulk import bulk
from holdfast.store.scripts.jobs.cancel import cancel_group, cancel_job, cancel_tag
from holdfast.store.scripts.jobs.dead_letters import list_dead_letters, retry_dead_letters
from holdfast.store.scripts.jobs.group_jobs import enqueue_group, retry_group
from holdfast.store.scripts.jobs.reorder import move_after, move_before, move_ties, tie_job
from holdfast.store.scripts.jobs.retry import retry_job
from holdfast.store.scripts.maintenance.maintenance import CloseJobs, loosen
from holdfast.store.scripts.runs.finish import finish
from holdfast.store.scripts.webhooks.webhooks import put_webhook
from tests.chaos.scenarios.shared import (
    DOOMED,
    HOPELESS,
    NOW,
    SUBJECT,
    Scenario,
    after,
    begin,
    job,
    put,
    take,
)
from tests.store.acts import write

LATER = NOW + 2


def make_group(engine: Engine, group: str, mode: GroupMode, on_failure: OnFailure, members: str) -> None:
    write(engine, create_group, group, group, mode, on_failure, NOW)
    put(engine, *(job(f"{group}-{name}", group_id=group) for name in members))


def break_all(engine: Engine) -> None:
    """Whatever can start fails for good."""
    runs = take(engine, DOOMED).values()
    write(engine, finish, [Report(run.run_id, run.job_id, HOPELESS, 5) for run in runs], NOW + 1)


def failed_world(engine: Engine) -> dict[str, Claimed]:
    """Groups that have ended badly, single jobs that failed of the same, and somebody who hears of all that."""
    begin(engine, DOOMED)
    wanted = NewWebhook(id="hook", url="http://hook.example", patterns=("group.*", "job.*"), secret="a-secret-of-ours")
    write(engine, put_webhook, wanted, NOW)
    make_group(engine, "row", GroupMode.SEQUENTIAL, OnFailure.STOP, "abc")
    make_group(engine, "heap", GroupMode.PARALLEL, OnFailure.CONTINUE, "ab")
    put(engine, job("one", tag="those"), job("old", subject=SUBJECT), job("follower", after=after("one")))
    break_all(engine)
    put(engine, job("new", subject=SUBJECT), job("two", tag="those"))
    break_all(engine)
    return {}


def act_retry_member(engine: Engine, runs: dict[str, Claimed]) -> None:
    write(engine, retry_job, "row-a", LATER, None, "again")


def act_retry_rest(engine: Engine, runs: dict[str, Claimed]) -> None:
    """First the member that failed, and then those that were cancelled because of it."""
    write(engine, retry_job, "row-a", LATER, None, "again")
    write(engine, retry_group, "row", LATER, rest=True)


def act_retry_row(engine: Engine, runs: dict[str, Claimed]) -> None:
    with suppress(Conflict):  # A repeat finds that the group goes on already.
        write(engine, retry_group, "row", LATER)


def act_retry_heap(engine: Engine, runs: dict[str, Claimed]) -> None:
    write(engine, retry_group, "heap", LATER)


def act_retry_many(engine: Engine, runs: dict[str, Claimed]) -> None:
    write(engine, bulk, BulkAction.RETRY, JobFilter(states=(StateName.FAILED, StateName.CANCELLED)), LATER)


def act_retry_letters(engine: Engine, runs: dict[str, Claimed]) -> None:
    for letters in engine.query(list_dead_letters).letters:
        write(engine, retry_dead_letters, letters.fingerprint, LATER)


def act_retry_letters_by_steps(engine: Engine, runs: dict[str, Claimed]) -> None:
    """As the command does it with very many."""
    [letters] = engine.query(list_dead_letters).letters
    more, upto = True, None
    while more:
        done = write(engine, retry_dead_letters, letters.fingerprint, LATER, upto=upto, limit=4)
        more, upto = done.more, done.upto


def act_enqueue_group(engine: Engine, runs: dict[str, Claimed]) -> None:
    jobs = [job("g1"), job("g2", subject=SUBJECT), job("g3", after=after("two"))]
    write(engine, enqueue_group, "new", "new", GroupMode.SEQUENTIAL, OnFailure.STOP, jobs, LATER, repeated=True)


def crowded_world(engine: Engine) -> dict[str, Claimed]:
    """Some run, some wait, and two that wait have no place between them."""
    begin(engine, DOOMED)
    put(engine, job("runs", tag="those"), job("runs-too", tag="others"))
    runs = take(engine, DOOMED)
    make_group(engine, "row", GroupMode.SEQUENTIAL, OnFailure.CONTINUE, "abc")
    put(engine, *(job(f"j{number}", tag="those") for number in range(4)), job("follower", after=after("j0")))
    for _ in range(GAP.bit_length()):
        for moved in ("j2", "j3"):
            write(engine, move_after, moved, "j0")
    return runs


def act_cancel(engine: Engine, runs: dict[str, Claimed]) -> None:
    write(engine, cancel_job, "runs-too", LATER)
    write(engine, cancel_tag, "those", LATER, 10)
    write(engine, cancel_group, "row", LATER, 10)


def act_cancel_many(engine: Engine, runs: dict[str, Claimed]) -> None:
    write(engine, bulk, BulkAction.PRIORITY, JobFilter(tag="those"), LATER, priority=7)
    write(engine, bulk, BulkAction.CANCEL, JobFilter(tag="those"), LATER)


def act_move(engine: Engine, runs: dict[str, Claimed]) -> None:
    write(engine, move_before, "row-a", "j3")
    write(engine, move_after, "row-a", "j0")
    write(engine, tie_job, "j1", "node")
    write(engine, tie_job, "j2", "node")
    write(engine, move_ties, "node")
    write(engine, loosen, CloseJobs("default", DEFAULT_TENANT, 0, 0, 0))


BY_HAND: dict[str, Scenario] = {
    "retry member": Scenario(failed_world, act_retry_member),
    "retry rest": Scenario(failed_world, act_retry_rest, commits=2),
    "retry row": Scenario(failed_world, act_retry_row),
    "retry heap": Scenario(failed_world, act_retry_heap),
    # Each time it makes new jobs: it names none that a repeat could find.
    "retry many": Scenario(failed_world, act_retry_many, can_repeat=False),
    "retry letters": Scenario(failed_world, act_retry_letters),
    # A repeat makes the rest, with other ids.
    "retry letters by steps": Scenario(failed_world, act_retry_letters_by_steps, commits=2, can_repeat=False),
    "enqueue group": Scenario(failed_world, act_enqueue_group),
    "cancel": Scenario(crowded_world, act_cancel, commits=3),
    "cancel many": Scenario(crowded_world, act_cancel_many, commits=2),
    # Where a job comes to stand depends on where it stood.
    "move": Scenario(crowded_world, act_move, commits=6, can_repeat=False),
}
