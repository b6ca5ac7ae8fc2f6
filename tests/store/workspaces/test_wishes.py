"""What people do with workspaces, on both databases: what is refused changes nothing."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast.core.access import Role
from holdfast.core.errors import Conflict, HoldfastError, InvalidInput, NotFound, TooManyRunning
from holdfast.core.jobs import trigger
from holdfast.core.messages.workspaces import NewWorkspace
from holdfast.core.workspaces.states import DesiredState, ErrorReason, Operation, Phase
from holdfast.core.workspaces.workspace import InstanceBackend, StorageBackend, WorkspaceLimits
from holdfast.store.engine import Engine, new_uuid
from holdfast.store.scripts.access import users
from holdfast.store.scripts.workspaces import workspaces
from holdfast.store.topics import WORKSPACES
from tests.store.acts import NOW, dump, write
from tests.store.workspace_acts import begin, create, end_run, find, look, open_controller, to_standby, want

D = DesiredState


def test_one_that_was_just_made_is_pending_and_says_what_comes(engine: Engine) -> None:
    made = create(engine, env={"LEVEL": "3"}, description="mine")
    assert (made.phase, made.operation, made.desired_state) == (Phase.PENDING, Operation.NONE, D.RUNNING)
    assert made.steps == [Operation.PROVISIONING, Operation.STARTING]
    assert (made.owner, made.node, made.conditions, made.home) == ("local", engine.node, {}, None)
    assert made.home_store_key == f"ws-{made.id}-home"
    assert (made.command, made.env, made.description) == (("serve", "{port}"), {"LEVEL": "3"}, "mine")
    assert find(engine) == find(engine, made.id) == made
    assert engine.query(workspaces.list_workspaces) == [made]


def test_a_repeat_of_a_call_makes_none_twice(engine: Engine) -> None:
    new = NewWorkspace(id=new_uuid(), name="dev", command=("x",))
    first = write(engine, workspaces.create_workspace, new, NOW)
    assert write(engine, workspaces.create_workspace, new, NOW, repeated=True) == first
    with pytest.raises(Conflict, match="make another id"):
        write(engine, workspaces.create_workspace, new, NOW)


BAD: list[tuple[dict[str, Any], type[HoldfastError], str]] = [
    ({"name": "Dev"}, InvalidInput, "a name as hosts have it"),
    ({"name": "-dev"}, InvalidInput, "a name as hosts have it"),
    ({"name": "d" * 64}, InvalidInput, "1 to 63"),
    ({"name": "01a1f677-82f2-702e-9f65-74548d0d5351"}, InvalidInput, "would be taken for an id"),
    ({"name": "taken"}, Conflict, "there is a workspace 'taken' already"),
    ({"command": ()}, InvalidInput, "needs a command"),
    ({"command": ("",)}, InvalidInput, "argv is empty"),
    ({"command": ("a\0b",)}, InvalidInput, "NUL"),
    ({"env": {"A=B": "x"}}, InvalidInput, "env"),
    ({"standby_ttl_seconds": 59}, InvalidInput, "at least 60 s, or 0"),
    ({"archive_ttl_seconds": 1}, InvalidInput, "at least 60 s, or 0"),
    ({"instance_backend": InstanceBackend.K8S}, InvalidInput, "k8s is not there yet: use local-process"),
    ({"storage_backend": StorageBackend.MINIO}, InvalidInput, "minio is not there yet"),
    ({"desired_state": D.ARCHIVED}, InvalidInput, "cannot be ARCHIVED: no archive is set: give the folder"),
    ({"desired_state": D.DELETED}, InvalidInput, "choose RUNNING or STANDBY"),
]


@pytest.mark.parametrize(("options", "error", "said"), BAD)
def test_bad_input_is_refused_and_nothing_is_stored(
    engine: Engine, options: dict[str, Any], error: type[HoldfastError], said: str
) -> None:
    create(engine, "taken")
    before = dump(engine)
    with pytest.raises(error, match=said):
        create(engine, **options)
    assert dump(engine) == before


def test_ttls_of_zero_and_of_a_minute_are_fine(engine: Engine) -> None:
    made = create(engine, standby_ttl_seconds=0, archive_ttl_seconds=60)
    assert (made.standby_ttl_seconds, made.archive_ttl_seconds) == (0, 60)


def test_the_third_that_shall_run_is_refused_and_the_two_are_named(engine: Engine) -> None:
    create(engine, "one")
    create(engine, "two")
    with pytest.raises(TooManyRunning, match="at most 2 may: one, two"):
        create(engine, "three")
    create(engine, "three", desired_state=D.STANDBY)
    with pytest.raises(TooManyRunning, match="one, two"):
        want(engine, D.RUNNING, "three")
    want(engine, D.STANDBY, "one")
    assert want(engine, D.RUNNING, "three").desired_state is D.RUNNING


def test_the_limit_of_all_counts_those_of_every_owner(engine: Engine) -> None:
    create(engine, "one")
    new = NewWorkspace(id=new_uuid(), name="two", command=("x",))
    with pytest.raises(TooManyRunning, match="1 workspaces are or shall be RUNNING, and at most 1 may: one"):
        write(engine, workspaces.create_workspace, new, NOW, WorkspaceLimits(in_all=1), called("ann", engine))
    assert (
        write(engine, workspaces.create_workspace, new, NOW, WorkspaceLimits(1, 2), called("ann", engine)).name == "two"
    )


def called(name: str, engine: Engine) -> str:
    """The trigger of a user with a token."""
    if all(user.name != name for user in engine.query(users.list_users)):
        write(engine, users.add_user, name, Role.OPERATE, NOW)
    return trigger.called(user=name)


def test_each_change_is_on_record_with_who_asked(engine: Engine) -> None:
    create(engine)
    want(engine, D.STANDBY, trigger=called("ann", engine))
    want(engine, D.STANDBY, trigger=called("ann", engine))
    want(engine, D.RUNNING)
    found = engine.query(workspaces.list_workspace_changes, "dev")
    assert [(one.from_state, one.to_state, one.why) for one in found] == [
        (D.STANDBY, D.RUNNING, "user"),
        (D.RUNNING, D.STANDBY, "admin"),
        (None, D.RUNNING, "user"),
    ]
    assert "ann" in (found[1].trigger or "")
    assert engine.query(workspaces.list_workspace_changes, "dev", 1, found[0].number) == [found[1]]


def test_the_owner_of_what_comes_by_the_socket_is_no_user_that_one_sees(engine: Engine) -> None:
    assert [user.name for user in engine.query(users.list_users)] == []
    assert write(engine, users.add_user, "local", Role.READ, NOW).user.name == "local"
    create(engine)
    assert find(engine).owner_user_id == "local"


def test_while_an_operation_runs_a_change_is_refused_with_its_job(engine: Engine) -> None:
    open_controller(engine)
    create(engine)
    view = look(engine)
    assert view is not None
    before = dump(engine)
    with pytest.raises(Conflict, match=rf"PROVISIONING \(job {view.op_job_number}\); wait"):
        want(engine, D.STANDBY)
    assert dump(engine) == before
    assert want(engine, D.RUNNING).desired_state is D.RUNNING, "what it shall be already is no change"
    end_run(engine, begin(engine))


def test_a_delete_cannot_be_taken_back(engine: Engine) -> None:
    open_controller(engine)
    to_standby(engine)
    want(engine, D.DELETED)
    with pytest.raises(Conflict, match="is being deleted"):
        want(engine, D.RUNNING)


def test_one_that_is_not_there_is_not_found(engine: Engine) -> None:
    with pytest.raises(NotFound, match="there is no workspace 'dev'; see: holdfast workspace ls"):
        find(engine)
    with pytest.raises(NotFound):
        want(engine, D.RUNNING)


def test_only_one_in_error_is_recovered(engine: Engine) -> None:
    create(engine)
    with pytest.raises(Conflict, match="is PENDING, not ERROR"):
        write(engine, workspaces.recover_workspace, "dev", NOW)


def test_a_home_that_is_gone_is_given_up_only_by_a_word(engine: Engine) -> None:
    open_controller(engine)
    to_standby(engine)
    view = look(engine)
    assert view is not None
    assert (view.phase, view.error_reason) == (Phase.ERROR, ErrorReason.DATA_LOST)
    before = dump(engine)
    with pytest.raises(Conflict, match="is gone; put it back to /homes/v1, or recover with empty"):
        write(engine, workspaces.recover_workspace, "dev", NOW)
    assert dump(engine) == before
    write(engine, workspaces.recover_workspace, "dev", NOW, True)
    assert (find(engine).home_ctx, find(engine).error_reason) == (None, None)
    again = look(engine)
    assert again is not None
    assert (again.phase, again.operation) == (Phase.PENDING, Operation.PROVISIONING)
    end_run(engine, begin(engine))


def test_a_home_that_is_back_is_not_thrown_away(engine: Engine) -> None:
    open_controller(engine)
    to_standby(engine)
    look(engine)
    look(engine, volume=True)
    with pytest.raises(Conflict, match="nothing of workspace 'dev' is gone"):
        write(engine, workspaces.recover_workspace, "dev", NOW, True)
    write(engine, workspaces.recover_workspace, "dev", NOW)
    view = look(engine, volume=True)
    assert view is not None
    assert (view.phase, view.home) == (Phase.STANDBY, "/homes/v1")


def test_a_change_is_told(engine: Engine) -> None:
    heard: list[set[Any]] = []
    leave = engine.listen(lambda changes: heard.append(changes.topics))
    create(engine)
    leave()
    assert any(WORKSPACES in topics for topics in heard)
