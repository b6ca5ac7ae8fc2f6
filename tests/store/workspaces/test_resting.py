"""What becomes of workspaces that nobody uses, and what is changed of one, on both databases."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast.core.errors import Conflict, HoldfastError, InvalidInput, NotHolder
from holdfast.core.messages.workspaces import SleepPlan, WorkspaceEdits
from holdfast.core.workspaces.sleeping import AWAKE_MS, Sleep
from holdfast.core.workspaces.states import DesiredState, Operation, Phase
from holdfast.core.workspaces.workspace import WorkspaceLimits
from holdfast.store.engine import Engine
from holdfast.store.scripts.workspaces import resting, workspaces
from tests.store.acts import NOW, dump, write
from tests.store.workspace_acts import (
    CONTROLLER,
    begin,
    create,
    end_run,
    find,
    look,
    open_controller,
    to_running,
    to_standby,
    want,
)

D = DesiredState
ARCHIVES = WorkspaceLimits(no_archive=None)


@pytest.fixture(autouse=True)
def controller(engine: Engine) -> None:
    """A session that looks after the workspaces of this machine."""
    assert open_controller(engine)


def rest(engine: Engine, now: int, *, can_archive: bool = True) -> SleepPlan:
    """The plan, and what it says is due."""
    plan = engine.query(resting.sleep_plan, CONTROLLER, can_archive, now)
    before = dump(engine)
    write(engine, resting.let_rest, CONTROLLER, can_archive, now)
    assert (dump(engine) != before) == plan.is_due
    return plan


def test_one_that_nobody_uses_is_stopped_when_its_time_has_come(engine: Engine) -> None:
    view = to_running(engine)
    at = NOW + 300_000
    assert view.sleep == Sleep(at, D.STANDBY)
    assert rest(engine, at - 1) == SleepPlan(False, at)
    assert rest(engine, at) == SleepPlan(True, at)
    assert find(engine).desired_state is D.STANDBY
    [change, *_] = engine.query(workspaces.list_workspace_changes, "dev")
    assert (change.from_state, change.to_state, change.why, change.trigger) == (D.RUNNING, D.STANDBY, "ttl", None)
    assert rest(engine, at + 1) == SleepPlan(False, None), "it is on its way"


def test_one_that_is_used_goes_on(engine: Engine) -> None:
    to_running(engine)
    write(engine, resting.touch_workspace, "dev", NOW + 100_000)
    assert rest(engine, NOW + 300_000) == SleepPlan(False, NOW + 400_000)
    write(engine, resting.note_accesses, CONTROLLER, [find(engine).id], NOW + 200_000)
    assert find(engine).sleep == Sleep(NOW + 500_000, D.STANDBY)
    want(engine, D.RUNNING, now=NOW + 290_000)
    assert find(engine).last_access_at == NOW + 290_000, "a start is a use, also of one that runs"


def test_a_use_is_written_once_a_minute(engine: Engine) -> None:
    create(engine)
    for now in (NOW, NOW + 59_999, NOW + 60_000):
        write(engine, resting.touch_workspace, "dev", now)
        assert find(engine).last_access_at == (NOW if now < NOW + 60_000 else now)


def test_a_wish_of_a_person_since_then_counts_more(engine: Engine) -> None:
    to_running(engine)
    want(engine, D.DELETED)
    assert rest(engine, NOW + 10**9) == SleepPlan(False, None)
    assert find(engine).desired_state is D.DELETED


def test_its_home_is_archived_later_if_there_is_an_archive(engine: Engine) -> None:
    to_standby(engine, archive_ttl_seconds=60)
    at = NOW + AWAKE_MS  # Not at once after its machine has come back.
    assert rest(engine, at, can_archive=False) == SleepPlan(False, None)
    assert find(engine).sleep is None
    assert engine.query(workspaces.find_workspace, "dev", ARCHIVES).sleep == Sleep(at, D.ARCHIVED)
    assert rest(engine, at) == SleepPlan(True, at)
    view = look(engine, volume=True)
    assert view is not None
    assert (view.phase, view.operation, view.desired_state) == (Phase.STANDBY, Operation.ARCHIVING, D.ARCHIVED)
    end_run(engine, begin(engine))


def test_a_ttl_of_zero_is_none(engine: Engine) -> None:
    to_standby(engine, archive_ttl_seconds=0)
    assert rest(engine, NOW + 10**12) == SleepPlan(False, None)


def test_only_the_controller_says_so(engine: Engine) -> None:
    to_running(engine)
    open_controller(engine, "c2")
    with pytest.raises(NotHolder):
        write(engine, resting.let_rest, "c2", True, NOW + 10**9)
    with pytest.raises(NotHolder):
        write(engine, resting.note_accesses, "c2", [], NOW)
    assert engine.query(resting.sleep_plan, "c2", True, NOW + 10**9) == SleepPlan(False, None)


def test_what_is_changed_is_changed_and_nothing_else(engine: Engine) -> None:
    before = create(engine, env={"A": "1"}, description="mine")
    edits = WorkspaceEdits(name="box", memo="note", command=("other",), standby_ttl_seconds=0)
    after = write(engine, workspaces.edit_workspace, "dev", edits, NOW)
    assert (after.id, after.name, after.memo, after.command) == (before.id, "box", "note", ("other",))
    assert (after.env, after.description, after.standby_ttl_seconds) == ({"A": "1"}, "mine", 0)
    assert after.archive_ttl_seconds == before.archive_ttl_seconds


@pytest.mark.parametrize(
    ("edits", "error", "said"),
    [
        ({"name": "taken"}, Conflict, "there is a workspace 'taken' already"),
        ({"name": "Bad"}, InvalidInput, "a name as hosts have it"),
        ({"command": ()}, InvalidInput, "needs a command"),
        ({"env": {"A=B": "x"}}, InvalidInput, "env"),
        ({"standby_ttl_seconds": 5}, InvalidInput, "at least 60 s"),
        ({"archive_ttl_seconds": 59}, InvalidInput, "at least 60 s"),
    ],
)
def test_bad_changes_change_nothing(
    engine: Engine, edits: dict[str, Any], error: type[HoldfastError], said: str
) -> None:
    create(engine)
    create(engine, "taken")
    before = dump(engine)
    with pytest.raises(error, match=said):
        write(engine, workspaces.edit_workspace, "dev", WorkspaceEdits(**edits), NOW)
    assert dump(engine) == before
