"""What follows from what a controller has seen, on both databases; who may say it, and what comes too late."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from msgspec import structs

from holdfast.core.errors import Conflict, InvalidInput, NotHolder
from holdfast.core.jobs.requests import JobFilter
from holdfast.core.jobs.settle import Outcome
from holdfast.core.messages.jobs import BulkAction
from holdfast.core.messages.workspaces import SeenWorkspace, WorkspaceView
from holdfast.core.values.event import shape_of
from holdfast.core.values.retry import FailureKind
from holdfast.core.workspaces.conditions import ConditionName, ConditionReason, Observation
from holdfast.core.workspaces.deciding import PATIENCE_MS
from holdfast.core.workspaces.states import DesiredState, ErrorReason, Operation, Phase
from holdfast.store.engine import Engine
from holdfast.store.scripts.events.events import list_events, register_pattern
from holdfast.store.scripts.jobs import bulk, cancel, retry
from holdfast.store.scripts.sessions import sessions
from holdfast.store.scripts.workspaces import operating, reconcile, workspaces
from holdfast.store.topics import WORKSPACES
from tests.store.acts import DONE, NOW, dump, execute, job, let_time_pass, lose, row, runs, select, write
from tests.store.workspace_acts import (
    CONTROLLER,
    begin,
    create,
    end_run,
    failure,
    find,
    look,
    name_home,
    name_instance,
    older,
    open_controller,
    sight,
    to_running,
    to_standby,
    want,
)

D, Op, P = DesiredState, Operation, Phase


@pytest.fixture(autouse=True)
def controller(engine: Engine) -> None:
    """A session that looks after the workspaces of this machine."""
    assert open_controller(engine)


def state(view: WorkspaceView | None) -> tuple[Phase, Operation]:
    """What it is, and what is done with it."""
    assert view is not None
    return view.phase, view.operation


def test_a_workspace_comes_to_run(engine: Engine) -> None:
    create(engine)
    assert state(look(engine)) == (P.PENDING, Op.PROVISIONING)
    run = begin(engine)
    name_home(engine, run.run_id)
    assert state(look(engine, volume=True)) == (P.STANDBY, Op.PROVISIONING), "its job has not ended"
    end_run(engine, run)
    assert state(look(engine, volume=True)) == (P.STANDBY, Op.STARTING)
    run = begin(engine)
    name_instance(engine, run.run_id)
    end_run(engine, run)
    view = look(engine, volume=True, instance=True)
    assert state(view) == (P.RUNNING, Op.NONE)
    assert view is not None
    assert (view.address, view.home, view.steps) == ("127.0.0.1:8001", "/homes/v1", [])
    assert view.conditions[ConditionName.HEALTHY].status is True
    assert engine.query(workspaces.has_workspaces, engine.node)


def test_it_is_stopped_and_deleted(engine: Engine) -> None:
    to_running(engine)
    want(engine, D.DELETED)
    assert state(look(engine, volume=True, instance=True)) == (P.RUNNING, Op.STOPPING)
    run = begin(engine)
    write(engine, operating.note_instance, run.run_id, str(find(engine).op_id), None, NOW)
    end_run(engine, run)
    assert state(look(engine, volume=True)) == (P.STANDBY, Op.DELETING)
    end_run(engine, begin(engine))
    assert look(engine) is None
    assert not engine.query(workspaces.has_workspaces, engine.node)
    create(engine)  # Its name is free again.


def test_what_is_unchanged_is_not_written(engine: Engine) -> None:
    to_running(engine)
    seen = sight(engine, volume=True, instance=True)
    before = dump(engine)
    assert engine.query(reconcile.unsettled, CONTROLLER, [seen], NOW + 5_000) == []
    assert write(engine, reconcile.reconcile, CONTROLLER, [seen], NOW + 5_000) == []
    assert dump(engine) == before
    changed = structs.replace(seen, instance=False)
    assert engine.query(reconcile.unsettled, CONTROLLER, [changed], NOW) == [seen.id]


def test_what_was_seen_of_an_older_generation_is_ignored(engine: Engine) -> None:
    """A look that began before the home was named would find it lost."""
    create(engine, desired_state=D.STANDBY)
    look(engine)
    run = begin(engine)
    late = sight(engine)
    name_home(engine, run.run_id)
    end_run(engine, run)
    assert write(engine, reconcile.reconcile, CONTROLLER, [late], NOW) == []
    assert state(look(engine, volume=True)) == (P.STANDBY, Op.NONE)


def test_a_look_that_began_before_the_job_ended_does_not_end_the_operation(engine: Engine) -> None:
    create(engine, desired_state=D.STANDBY)
    look(engine)
    run = begin(engine)
    name_home(engine, run.run_id)
    look(engine, volume=True)
    early = sight(engine, volume=True)
    end_run(engine, run)
    assert write(engine, reconcile.reconcile, CONTROLLER, [early], NOW) == []
    assert find(engine).operation is Op.PROVISIONING


def test_each_write_raises_the_generation(engine: Engine) -> None:
    view = create(engine)
    generations = [view.generation]
    look(engine)
    generations.append(find(engine).generation)
    run = begin(engine)
    name_home(engine, run.run_id)
    generations.append(find(engine).generation)
    end_run(engine, run)
    look(engine, volume=True)
    generations.append(find(engine).generation)
    assert all(before < after for before, after in pairwise(generations))
    end_run(engine, begin(engine))


def test_a_home_is_named_only_while_the_run_is_open(engine: Engine) -> None:
    create(engine, desired_state=D.STANDBY)
    look(engine)
    run = begin(engine)
    op_id = str(find(engine).op_id)
    end_run(engine, run, failure())
    before = dump(engine)
    for late in (
        lambda: write(engine, operating.commit_home, run.run_id, op_id, "v", "/v", NOW),
        lambda: write(engine, operating.note_instance, run.run_id, op_id, None, NOW),
        lambda: write(engine, operating.commit_archive, run.run_id, op_id, "a", NOW),
        lambda: engine.query(operating.work_of_run, run.run_id, op_id),
    ):
        with pytest.raises(Conflict, match="any more"):
            late()
    assert dump(engine) == before
    let_time_pass(engine, NOW + 2_500)
    again = begin(engine, now=NOW + 2_500)
    with pytest.raises(Conflict):
        write(engine, operating.commit_home, again.run_id, "another plan", "v", "/v", NOW)
    name_home(engine, again.run_id)
    end_run(engine, again)


def test_an_archive_counts_at_once_with_the_end_of_the_home_and_only_if_it_is_of_the_run(engine: Engine) -> None:
    to_standby(engine)
    execute(engine, "UPDATE workspaces SET desired_state = 'ARCHIVED'")
    assert state(look(engine, volume=True)) == (P.STANDBY, Op.ARCHIVING)
    run = begin(engine)
    view = find(engine)
    for foreign in (f"{view.id}/{view.op_id}/another/x", f"{view.id}/another/{run.run_id}/x", "x"):
        with pytest.raises(InvalidInput, match="is not of run"):
            write(engine, operating.commit_archive, run.run_id, str(view.op_id), foreign, NOW)
    key = f"{view.id}/{view.op_id}/{run.run_id}/home.tar.zst"
    write(engine, operating.commit_archive, run.run_id, str(view.op_id), key, NOW)
    end_run(engine, run)
    stored = Observation(True, ConditionReason.ARCHIVE_UPLOADED, key)
    assert state(look(engine, archive=None)) == (P.STANDBY, Op.ARCHIVING), "nobody has seen it yet"
    after = look(engine, archive=stored)
    assert state(after) == (P.ARCHIVED, Op.NONE)
    assert after is not None
    assert (after.archive_key, after.home) == (key, None)
    want(engine, D.STANDBY)
    away = Observation(False, ConditionReason.ARCHIVE_UNREACHABLE, "no answer")
    assert state(look(engine, archive=away)) == (P.ARCHIVED, Op.NONE)
    assert state(look(engine, archive=stored)) == (P.ARCHIVED, Op.RESTORING)
    run = begin(engine)
    op_id = str(find(engine).op_id)
    write(engine, operating.commit_home, run.run_id, op_id, "v2", "/homes/v2", NOW, "older")
    end_run(engine, run)
    assert state(look(engine, archive=stored, volume=True)) == (P.STANDBY, Op.RESTORING), "it is from another archive"
    execute(
        engine,
        "UPDATE workspaces SET home_ctx = :home",
        home=f'{{"volume":"v2","path":"/v2","restore_marker":"{key}"}}',
    )
    assert state(look(engine, archive=stored, volume=True)) == (P.STANDBY, Op.NONE)


def test_only_who_knows_the_secret_of_its_session_speaks_for_a_run(engine: Engine) -> None:
    create(engine, desired_state=D.STANDBY)
    look(engine)
    run, op_id = begin(engine), str(find(engine).op_id)
    execute(engine, "UPDATE sessions SET secret_hash = 'x' WHERE id = :id", id=CONTROLLER)
    before = dump(engine)
    for secret in (None, "another"):
        with pytest.raises(NotHolder):
            write(engine, operating.commit_home, run.run_id, op_id, "v", "/v", NOW, None, secret)
        with pytest.raises(NotHolder):
            write(engine, operating.note_instance, run.run_id, op_id, None, NOW, None, secret)
    assert dump(engine) == before
    execute(engine, "UPDATE sessions SET secret_hash = NULL WHERE id = :id", id=CONTROLLER)
    end_run(engine, run)


def test_one_session_looks_after_a_machine_until_it_has_ended(engine: Engine) -> None:
    create(engine)
    assert not open_controller(engine, "c2")
    with pytest.raises(NotHolder, match="does not look after"):
        look(engine, session="c2")
    assert not engine.query(reconcile.watched_workspaces, "c2").is_held
    lose(engine, CONTROLLER)
    assert write(engine, reconcile.take_controller, "c2", NOW)
    with pytest.raises(NotHolder):
        look(engine)
    assert state(look(engine, session="c2")) == (P.PENDING, Op.PROVISIONING)
    end_run(engine, begin(engine, "c2"))


def test_a_session_that_has_ended_takes_nothing(engine: Engine) -> None:
    lose(engine, CONTROLLER)
    assert not write(engine, reconcile.take_controller, CONTROLLER, NOW)


def test_its_secret_is_asked_for(engine: Engine) -> None:
    execute(engine, "UPDATE sessions SET secret_hash = 'x' WHERE id = :id", id=CONTROLLER)
    with pytest.raises(NotHolder, match="another secret"):
        write(engine, reconcile.take_controller, CONTROLLER, NOW)
    with pytest.raises(NotHolder, match="another secret"):
        write(engine, reconcile.reconcile, CONTROLLER, [], NOW)


def test_a_workspace_of_another_machine_is_left_alone(engine: Engine) -> None:
    create(engine)
    execute(engine, "UPDATE workspaces SET node = 'elsewhere'")
    assert engine.query(reconcile.watched_workspaces, CONTROLLER).workspaces == []
    seen = SeenWorkspace(find(engine).id, find(engine).generation, False, False, False, False)
    assert write(engine, reconcile.reconcile, CONTROLLER, [seen], NOW) == []


def test_the_job_of_an_operation(engine: Engine) -> None:
    create(engine)
    view = look(engine)
    assert view is not None
    stored = job(engine, str(view.op_job_id))
    assert (stored.queue, stored.task) == ("holdfast.workspaces", "holdfast.workspace")
    assert (stored.subject, stored.idempotency_key) == (f"workspace:{view.id}", view.op_id)
    assert row(engine, stored.id).node > 0, "it is tied to its machine"
    assert row(engine, stored.id).timeout_ms == 300_000
    end_run(engine, begin(engine))


def test_it_is_tried_three_times_and_then_it_is_an_error(engine: Engine) -> None:
    to_standby(engine)
    want(engine, D.RUNNING)
    look(engine, volume=True)
    now, waits = NOW, []
    for _ in range(3):
        run = begin(engine, now=now)
        end_run(engine, run, failure(), now)
        if (until := row(engine, run.job_id).scheduled_at) is not None and job(
            engine, run.job_id
        ).state.name != "FAILED":
            waits.append(until - now)
            let_time_pass(engine, now := until)
    assert [abs(wait - want) <= want / 10 for wait, want in zip(waits, (2_000, 8_000), strict=True)] == [True, True]
    view = look(engine, volume=True)
    assert state(view) == (P.ERROR, Op.NONE)
    assert view is not None
    assert (view.error_reason, view.error_count, view.steps) == (ErrorReason.RETRY_EXCEEDED, 3, [])
    assert select(engine, "SELECT * FROM dead_letters") == []


def test_failures_before_leave_fewer_tries(engine: Engine) -> None:
    to_running(engine)
    view = look(engine, volume=True)  # It has ended unasked.
    assert view is not None
    assert (view.error_count, view.operation) == (1, Op.NONE)
    [watched] = engine.query(reconcile.watched_workspaces, CONTROLLER).workspaces
    assert watched.is_busy, "it is looked at soon"
    view = look(engine, volume=True, now=NOW + 2_000)
    assert view is not None
    assert view.operation is Op.STARTING
    assert job(engine, str(view.op_job_id)).policy.retries == 1
    assert view.instance_ctx is None
    end_run(engine, begin(engine))


@pytest.mark.parametrize(
    ("kind", "code", "reason"),
    [
        (FailureKind.PERMANENT, "DataLost", ErrorReason.DATA_LOST),
        (FailureKind.PERMANENT, "ContainerWithoutVolume", ErrorReason.CONTAINER_WITHOUT_VOLUME),
    ],
)
def test_a_permanent_failure_with_a_reason_is_an_error_at_once(
    engine: Engine, kind: FailureKind, code: str, reason: ErrorReason
) -> None:
    to_standby(engine)
    want(engine, D.RUNNING)
    look(engine, volume=True)
    end_run(engine, begin(engine), failure(code, kind))
    view = look(engine, volume=True)
    assert view is not None
    assert (view.phase, view.error_reason) == (P.ERROR, reason)


def test_what_is_done_but_not_seen_fails_after_a_while(engine: Engine) -> None:
    to_standby(engine)
    want(engine, D.RUNNING)
    look(engine, volume=True)
    end_run(engine, begin(engine))
    assert state(look(engine, volume=True, now=NOW + PATIENCE_MS - 1)) == (P.STANDBY, Op.STARTING)
    first = find(engine).op_id
    view = look(engine, volume=True, now=NOW + PATIENCE_MS)
    assert view is not None
    assert (view.error_count, view.operation) == (1, Op.NONE)
    view = look(engine, volume=True, now=NOW + PATIENCE_MS + 2_000)
    assert view is not None
    assert view.operation is Op.STARTING
    assert view.op_id != first
    end_run(engine, begin(engine))


def test_the_death_of_its_worker_neither_parks_nor_suspects_the_job(engine: Engine) -> None:
    create(engine)
    job_id = str(getattr(look(engine), "op_job_id", None))
    now = NOW
    for number in range(5):
        session = f"dying{number}"
        open_controller(engine, session)
        run = begin(engine, session, now)
        lose(engine, session, now)
        stored = row(engine, run.job_id)
        assert (stored.state, stored.infra_tries, stored.deaths) == ("SCHEDULED", number + 1, 0)
        assert select(engine, "SELECT number FROM jobs WHERE is_suspect = 1") == []
        let_time_pass(engine, now := stored.scheduled_at or now)
    assert [one.error_kind for one in runs(engine, job_id)] == ["infra"] * 5
    end_run(engine, begin(engine, now=now), now=now)


def test_two_operations_that_die_together_are_counted_too(engine: Engine) -> None:
    create(engine, "one")
    create(engine, "two")
    look(engine, "one")
    look(engine, "two")
    open_controller(engine, "dying")
    both = [begin(engine, "dying") for _ in range(2)]
    lose(engine, "dying")
    assert [row(engine, run.job_id).infra_tries for run in both] == [1, 1]
    let_time_pass(engine, NOW + 60_000)
    for _ in both:
        end_run(engine, begin(engine, now=NOW + 60_000), now=NOW + 60_000)


def test_its_jobs_are_neither_cancelled_nor_retried_by_hand(engine: Engine) -> None:
    create(engine)
    view = look(engine)
    assert view is not None
    job_id = str(view.op_job_id)
    before = dump(engine)
    for by_hand in (
        lambda: write(engine, cancel.cancel_job, job_id, NOW),
        lambda: write(engine, retry.retry_job, job_id, NOW),
    ):
        with pytest.raises(Conflict, match="is an operation of a workspace; say what the workspace shall be instead"):
            by_hand()
    for action in (BulkAction.CANCEL, BulkAction.RETRY):
        assert write(engine, bulk.bulk, action, JobFilter(queue="holdfast.workspaces"), NOW).jobs == 0
    assert dump(engine) == before
    end_run(engine, begin(engine))


def test_an_end_of_one_that_was_asked_for_is_no_failure(engine: Engine) -> None:
    to_running(engine)
    want(engine, D.STANDBY)
    look(engine, volume=True, instance=True)
    end_run(engine, begin(engine))
    view = look(engine, volume=True)
    assert view is not None
    assert (view.phase, view.error_count, view.instance_ctx) == (P.STANDBY, 0, None)


def test_what_is_not_known_changes_nothing_but_its_condition(engine: Engine) -> None:
    to_running(engine)
    view = look(engine, volume=None, leftovers=None, instance=True)
    assert view is not None
    assert (view.phase, view.operation, view.conditions[ConditionName.VOLUME].status) == (P.RUNNING, Op.NONE, None)


def test_an_operation_whose_job_is_forgotten_ends_all_the_same(engine: Engine) -> None:
    create(engine, desired_state=D.STANDBY)
    look(engine)
    run = begin(engine)
    name_home(engine, run.run_id)
    end_run(engine, run)
    execute(engine, "DELETE FROM job_runs")
    execute(engine, "DELETE FROM subjects")
    execute(engine, "DELETE FROM jobs")
    assert state(look(engine, volume=True)) == (P.STANDBY, Op.NONE)


def test_a_new_phase_is_an_event_and_an_error_an_alert(engine: Engine) -> None:
    write(engine, register_pattern, shape_of("workspace.*", ()))
    to_standby(engine)
    look(engine)
    events = engine.query(list_events).events
    assert [one.event.name for one in events] == ["alert.workspace", "workspace.error", "workspace.standby"]
    assert events[1].event.attributes["reason"] == "DataLost"
    assert events[2].event.attributes["workspace"] == "dev"


@pytest.mark.parametrize("outcome", [DONE, failure("DataLost", FailureKind.PERMANENT)])
def test_the_end_of_the_job_of_an_operation_is_told(engine: Engine, outcome: Outcome) -> None:
    create(engine)
    look(engine)
    run = begin(engine)
    heard: list[Any] = []
    leave = engine.listen(lambda changes: heard.append(changes.topics))
    end_run(engine, run, outcome)
    leave()
    assert any(WORKSPACES in topics for topics in heard)


def test_what_was_seen_twice_is_stored_once(engine: Engine) -> None:
    create(engine)
    seen = sight(engine)
    assert write(engine, reconcile.reconcile, CONTROLLER, [seen], NOW) == [seen.id]
    assert write(engine, reconcile.reconcile, CONTROLLER, [seen, older(seen)], NOW) == []
    assert len(select(engine, "SELECT id FROM jobs")) == 1
    end_run(engine, begin(engine))


def test_the_end_of_a_session_in_order_frees_its_machine(engine: Engine) -> None:
    write(engine, sessions.close_session, CONTROLLER, "success", NOW)
    open_controller(engine, "c2")
    assert engine.query(reconcile.watched_workspaces, "c2").is_held
