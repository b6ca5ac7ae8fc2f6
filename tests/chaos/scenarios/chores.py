"""What is done for the database itself: chores are planned, done and settled, and what is old is forgotten."""

from __future__ import annotations

from holdfast.core.jobs.requests import Claimed, Report
from holdfast.core.machine.maintenance import KeepTimes
from holdfast.core.messages.machines import TokenSetting
from holdfast.core.messages.sessions import NewSession, Offer
from holdfast.core.rules.tokens import Tokens
from holdfast.core.tasks.reserved import BENCH
from holdfast.store.engine import Engine
from holdfast.store.scripts.events.events import emit, forget_events
from holdfast.store.scripts.jobs.dead_letter_rows import name_old_letters
from holdfast.store.scripts.machines.machines import forget_machines
from holdfast.store.scripts.maintenance.maintenance import claim_chore, maintain, plan_chores, settle_chore
from holdfast.store.scripts.maintenance.probed_machines import note_machine
from holdfast.store.scripts.maintenance.retention import enqueue_measured, forget_ended, forget_measured, forget_old
from holdfast.store.scripts.queues.tenants import forget_tenants
from holdfast.store.scripts.runs.finish import finish
from holdfast.store.scripts.sessions.sessions import close_session, open_session
from holdfast.store.scripts.tasks.declared_tasks import forget_tasks
from tests.chaos.database import statement
from tests.chaos.scenarios.by_hand import failed_world
from tests.chaos.scenarios.machines import BUSY, version
from tests.chaos.scenarios.shared import CHORES, DAY, DOOMED, HOPELESS, NOW, Scenario, job, put, take
from tests.store.acts import write

LATER = NOW + DAY


def aged_world(engine: Engine) -> dict[str, Claimed]:
    """Jobs, groups, events, tasks, tenants and a machine that nobody needs any more, and letters without a name."""
    elder = Offer("w-elder", "elder", ("work", "gone"), ("default",), 2, declared=(version("work"), version("gone")))
    session = NewSession("elder", "daemon", "gone-node", "boot", 1, None, TokenSetting(tokens=Tokens(cpu=2)))
    write(engine, open_session, session, elder, NOW)
    write(engine, note_machine, "gone-node", BUSY, None, NOW)
    write(engine, close_session, "elder", "success", NOW)
    failed_world(engine)
    write(engine, emit, "event", "siege:go", {}, NOW)
    put(engine, *(job(name, tenant=name) for name in ("ours", "theirs")))
    write(engine, enqueue_measured, ["m1", "m2", "m3"], NOW)
    runs = take(engine, DOOMED).values()
    write(engine, finish, [Report(run.run_id, run.job_id, HOPELESS, 5) for run in runs], NOW)
    write(engine, lambda tx: tx.run(statement("UPDATE dead_letters SET fingerprint = ''")))
    return {}


def act_forget(engine: Engine, runs: dict[str, Claimed]) -> None:
    write(engine, name_old_letters)
    write(engine, forget_measured, LATER)
    write(engine, forget_events, LATER)
    write(engine, forget_tasks, LATER, 10)
    write(engine, forget_tenants, LATER + 2 * DAY, 10, kept=0)
    write(engine, forget_machines, LATER)
    while write(engine, forget_old, LATER, 5) == 5:
        pass


def act_measure(engine: Engine, runs: dict[str, Claimed]) -> None:
    write(engine, enqueue_measured, ["m4", "m5"], LATER, repeated=True)
    write(engine, forget_ended, BENCH, BENCH, LATER)


def act_plan_chores(engine: Engine, runs: dict[str, Claimed]) -> None:
    write(engine, plan_chores, CHORES, KeepTimes(DAY), LATER + 1)


def planned_world(engine: Engine) -> dict[str, Claimed]:
    """One chore is under way, and another one waits."""
    aged_world(engine)
    act_plan_chores(engine, {})
    claimed = write(engine, claim_chore, DOOMED, CHORES, LATER + 1)
    assert claimed is not None
    return {"chore": claimed}


def act_settle_chore(engine: Engine, runs: dict[str, Claimed]) -> None:
    chore = runs["chore"]
    write(engine, settle_chore, Report(chore.run_id, chore.job_id, HOPELESS, 5), chore.task, LATER + 2)


def act_claim_chore(engine: Engine, runs: dict[str, Claimed]) -> None:
    """The one that is under way never arrived, so it is given back, and another one begins."""
    write(engine, claim_chore, DOOMED, CHORES, LATER + 3)


def act_maintain(engine: Engine, runs: dict[str, Claimed]) -> None:
    write(engine, maintain, "retention", LATER + 2)


CHORES_DONE: dict[str, Scenario] = {
    "forget": Scenario(aged_world, act_forget, commits=9),
    "measure": Scenario(aged_world, act_measure, commits=2),
    "plan chores": Scenario(aged_world, act_plan_chores),
    "settle chore": Scenario(planned_world, act_settle_chore),
    # What it never heard of it gives back, so the one who asks again gets another run.
    "claim chore": Scenario(planned_world, act_claim_chore, can_repeat=False),
    "maintain": Scenario(aged_world, act_maintain),
}
