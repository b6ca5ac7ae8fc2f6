"""Workspaces: what a person wants of them, and what their controller stores."""

from __future__ import annotations

from holdfast.core.jobs.requests import Claimed
from holdfast.core.messages.workspaces import HomeContext, NewWorkspace, SeenWorkspace
from holdfast.core.workspaces.states import DesiredState
from holdfast.store.engine import Engine
from holdfast.store.scripts.workspaces.operating import commit_archive, commit_home
from holdfast.store.scripts.workspaces.reconcile import reconcile, take_controller, watched_workspaces
from holdfast.store.scripts.workspaces.resting import let_rest
from holdfast.store.scripts.workspaces.workspaces import (
    create_workspace,
    find_workspace,
    recover_workspace,
    set_desired_state,
)
from tests.chaos.scenarios.shared import DAY, DOOMED, NOW, Scenario, begin, take
from tests.store.acts import execute

NAMES = ("dev", "box")


def looked_after_world(engine: Engine) -> dict[str, Claimed]:
    """A session that looks after the workspaces of its machine; there are none yet."""
    begin(engine, DOOMED)
    engine.submit(take_controller, DOOMED, NOW).result()
    return {}


def made_world(engine: Engine) -> dict[str, Claimed]:
    """Two workspaces that nobody has looked at."""
    looked_after_world(engine)
    act_create(engine, {})
    execute(engine, "UPDATE workspaces SET node = 'node'")
    return {}


def planned_world(engine: Engine) -> dict[str, Claimed]:
    """Their homes are being made."""
    made_world(engine)
    act_look(engine, {})
    return take(engine, DOOMED)


def lost_world(engine: Engine) -> dict[str, Claimed]:
    """Their homes are gone, which was seen."""
    made_world(engine)
    home = HomeContext("v", "/homes/v")
    execute(engine, "UPDATE workspaces SET home_ctx = :home", home=f'{{"volume":"{home.volume}","path":"{home.path}"}}')
    act_look(engine, {})
    return {}


def act_create(engine: Engine, runs: dict[str, Claimed]) -> None:
    for number, name in enumerate(NAMES):
        new = NewWorkspace(id=f"w{number}", name=name, command=("serve",))
        engine.submit(create_workspace, new, NOW, repeated=True).result()


def act_look(engine: Engine, runs: dict[str, Claimed]) -> None:
    found = engine.query(watched_workspaces, DOOMED).workspaces
    seen = [SeenWorkspace(one.id, one.generation, one.job_has_ended, False, False, False) for one in found]
    engine.submit(reconcile, DOOMED, seen, NOW).result()


def act_want(engine: Engine, runs: dict[str, Claimed]) -> None:
    engine.submit(set_desired_state, "dev", DesiredState.STANDBY, NOW).result()


def act_recover(engine: Engine, runs: dict[str, Claimed]) -> None:
    engine.submit(recover_workspace, "dev", NOW, True).result()


def act_commit_home(engine: Engine, runs: dict[str, Claimed]) -> None:
    found = engine.query(find_workspace, "dev")
    engine.submit(commit_home, runs[str(found.op_job_id)].run_id, str(found.op_id), "v", "/homes/v", NOW).result()


def act_commit_archive(engine: Engine, runs: dict[str, Claimed]) -> None:
    found = engine.query(find_workspace, "dev")
    run_id = runs[str(found.op_job_id)].run_id
    key = f"{found.id}/{found.op_id}/{run_id}/home.tar.zst"
    engine.submit(commit_archive, run_id, str(found.op_id), key, NOW).result()


def archiving_world(engine: Engine) -> dict[str, Claimed]:
    """Their homes are being archived."""
    made_world(engine)
    execute(engine, 'UPDATE workspaces SET home_ctx = \'{"volume":"v","path":"/v"}\', desired_state = \'ARCHIVED\'')
    found = engine.query(watched_workspaces, DOOMED).workspaces
    seen = [SeenWorkspace(one.id, one.generation, one.job_has_ended, True, False, False) for one in found]
    engine.submit(reconcile, DOOMED, seen, NOW).result()
    return take(engine, DOOMED)


def idle_world(engine: Engine) -> dict[str, Claimed]:
    """Nobody has used them for long."""
    made_world(engine)
    home = '{"volume":"v","path":"/v"}'
    execute(engine, "UPDATE workspaces SET home_ctx = :home, desired_state = 'STANDBY', phase = 'STANDBY'", home=home)
    return {}


def act_let_rest(engine: Engine, runs: dict[str, Claimed]) -> None:
    engine.submit(let_rest, DOOMED, True, NOW + 2 * DAY).result()


HOMES: dict[str, Scenario] = {
    "create workspaces": Scenario(looked_after_world, act_create, commits=len(NAMES)),
    "look at workspaces": Scenario(made_world, act_look),
    "want another state": Scenario(made_world, act_want),
    "name a home": Scenario(planned_world, act_commit_home),
    "name an archive": Scenario(archiving_world, act_commit_archive),
    "let workspaces rest": Scenario(idle_world, act_let_rest),
    "recover a workspace": Scenario(lost_world, act_recover),
}
