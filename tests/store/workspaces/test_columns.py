"""Who writes which column of a workspace: one statement each, of the controller or of the API."""

from __future__ import annotations

import re
from collections import defaultdict

import holdfast.core.workspaces.conditions as known
from holdfast.core.workspaces.states import DesiredState, ErrorReason, Operation, Phase
from holdfast.core.workspaces.workspace import InstanceBackend, StorageBackend
from holdfast.store.migrate import migrations
from holdfast.store.record_columns import RECORD_LISTS
from holdfast.store.scripts.workspaces.workspace_rows import WorkspaceRow
from holdfast.store.statements import Dialect, sql

CONTROLLER = {
    "note_conditions": {"conditions", "observed_at", "phase", "phase_changed_at"},
    "set_operation": {"operation", "op_started_at", "op_id", "op_job_id"},
    "set_workspace_error": {"error_reason", "error_count"},
    "set_home": {"home_ctx"},
    "set_archive": {"archive_key"},
    "set_instance": {"instance_ctx", "port"},
}
API = {
    "set_desired_state": {"desired_state"},
    "note_workspace_deleted": {"deleted_at"},
    "note_access": {"last_access_at"},
    "edit_workspace": {
        "name",
        "description",
        "memo",
        "command",
        "env",
        "standby_ttl_seconds",
        "archive_ttl_seconds",
    },
}
OF_ALL = {"updated_at", "generation"}


def written() -> dict[str, set[str]]:
    """The columns that each statement sets in `workspaces`, but for those that all of them set."""
    found: dict[str, set[str]] = defaultdict(set)
    for name in sql.names:
        update = re.search(r"UPDATE\s+workspaces\s+SET\s+(.*?)(?:\sWHERE\s+id|$)", getattr(sql, name).sqlite, re.DOTALL)
        if update is not None:
            found[name] = set(re.findall(r"(?:^|,)\s*(\w+)\s*=", update[1])) - OF_ALL
    return found


def test_each_column_has_one_writer() -> None:
    assert written() == CONTROLLER | API
    columns = [column for names in written().values() for column in names]
    assert len(columns) == len(set(columns))


def test_each_write_of_the_controller_raises_the_generation() -> None:
    for name in CONTROLLER:
        assert "generation = generation + 1" in getattr(sql, name).sqlite, name


def test_the_database_knows_the_same_words() -> None:
    [text] = [one.text for one in migrations(Dialect.SQLITE) if one.name == "030_workspaces"]
    for column, words in {
        "phase": Phase,
        "operation": Operation,
        "desired_state": DesiredState,
        "error_reason": ErrorReason,
        "instance_backend": InstanceBackend,
        "storage_backend": StorageBackend,
    }.items():
        allowed = re.search(rf"CHECK \({column} IN \((.*?)\)\)", text, re.DOTALL)
        assert allowed is not None, column
        assert re.findall(r"'([^']+)'", allowed[1]) == [str(word) for word in words], column


def test_a_row_has_the_columns_that_people_see() -> None:
    assert list(RECORD_LISTS["workspace"]) == list(WorkspaceRow.__struct_fields__)


def test_the_conditions_are_stored_in_one_order() -> None:
    assert [str(name) for name in known.ConditionName] == [
        "storage.volume_ready",
        "storage.archive_ready",
        "infra.container_ready",
        "policy.healthy",
    ]
