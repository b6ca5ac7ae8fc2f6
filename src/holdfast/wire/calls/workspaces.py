"""Calls about workspaces."""

from __future__ import annotations

from holdfast.core.access import Role
from holdfast.store.script_names import operating, reconcile, resting, workspaces
from holdfast.wire.call import WORKERS, ApiCall, never

ONE = "/v1/workspaces/{ref}"
CONTROLLER = "/v1/sessions/{session_id}/workspaces"
OPERATION = "/v1/runs/{run_id}/operation"

CALLS: tuple[ApiCall, ...] = (
    ApiCall(Role.OPERATE, "workspaces", "POST", "/v1/workspaces", workspaces.create_workspace, status=201),
    ApiCall(Role.READ, "workspaces", "GET", "/v1/workspaces", workspaces.list_workspaces),
    ApiCall(Role.READ, "workspaces", "GET", ONE, workspaces.find_workspace),
    ApiCall(Role.OPERATE, "workspaces", "PUT", ONE, workspaces.edit_workspace),
    ApiCall(Role.OPERATE, "workspaces", "POST", ONE + "/touch", resting.touch_workspace, is_logged=False),
    ApiCall(Role.OPERATE, "workspaces", "PUT", ONE + "/desired", workspaces.set_desired_state),
    ApiCall(Role.OPERATE, "workspaces", "POST", ONE + "/recover", workspaces.recover_workspace, is_repeatable=never),
    ApiCall(Role.READ, "workspaces", "GET", ONE + "/changes", workspaces.list_workspace_changes),
    ApiCall(Role.OPERATE, WORKERS, "POST", CONTROLLER, reconcile.take_controller, is_quiet=True),
    ApiCall(Role.READ, WORKERS, "GET", CONTROLLER, reconcile.watched_workspaces, is_quiet=True),
    ApiCall(Role.READ, WORKERS, "POST", CONTROLLER + "/unsettled", reconcile.unsettled, reads=True, is_quiet=True),
    ApiCall(Role.OPERATE, WORKERS, "POST", CONTROLLER + "/seen", reconcile.reconcile, is_quiet=True),
    ApiCall(Role.OPERATE, WORKERS, "POST", CONTROLLER + "/used", resting.note_accesses, is_quiet=True),
    ApiCall(Role.READ, WORKERS, "POST", CONTROLLER + "/sleep", resting.sleep_plan, reads=True, is_quiet=True),
    ApiCall(Role.OPERATE, WORKERS, "POST", CONTROLLER + "/rest", resting.let_rest, is_quiet=True),
    ApiCall(Role.READ, WORKERS, "POST", OPERATION, operating.work_of_run, reads=True, is_quiet=True),
    ApiCall(Role.OPERATE, WORKERS, "POST", OPERATION + "/home", operating.commit_home, is_quiet=True),
    ApiCall(Role.OPERATE, WORKERS, "POST", OPERATION + "/archive", operating.commit_archive, is_quiet=True),
    ApiCall(Role.OPERATE, WORKERS, "POST", OPERATION + "/instance", operating.note_instance, is_quiet=True),
)
