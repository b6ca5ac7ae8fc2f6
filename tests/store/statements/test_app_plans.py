"""What is asked of the calls of apps is found by the index that was made for it, however many there are."""

from __future__ import annotations

import re
from typing import Any

import pytest

from holdfast.core.messages.telemetry import AppRecord
from holdfast.core.rules.limits import MAX_INT
from holdfast.store.engine import Engine
from holdfast.store.scripts.apps.app_owners import begin_app, take_apps
from holdfast.store.scripts.apps.records import record_calls
from holdfast.store.statements import sql
from tests.store.acts import NOW, open_session, write
from tests.store.app_acts import execution, failed, invocation, registered
from tests.store.apps.test_app_owners import KITCHEN
from tests.store.statements.test_hot_plans import explained

BEHIND = {"started_at": MAX_INT, "below": MAX_INT, "since": 0, "limit": 10}
PLANS: dict[str, tuple[dict[str, Any], str, bool]] = {
    "list_invocations": ({"id": 1, **BEHIND}, "idx_handler_invocations_listener", True),
    "list_executions": ({"id": 1, **BEHIND}, "idx_job_executions_job", True),
    "failed_invocations": ({"status": "error", "app_key": None, **BEHIND}, "idx_handler_invocations_failed", False),
    "failed_executions": ({"status": "error", "app_key": None, **BEHIND}, "idx_job_executions_failed", False),
    "figures_of_listener": ({"id": 1, "since": 0}, "idx_handler_invocations_listener", False),
    "figures_of_timer": ({"id": 1, "since": 0}, "idx_job_executions_job", False),
    "old_invocations": ({"before": 5, "limit": 10}, "idx_handler_invocations_started", True),
    "old_executions": ({"before": 5, "limit": 10}, "idx_job_executions_started", True),
    "asked_timers": ({"app_keys": '["kitchen"]'}, "idx_scheduled_jobs_asked", False),
    "free_apps_of_session": ({"session_id": "one"}, "idx_apps_session", False),
    "ended_sessions": ({"below": 5, "since": None, "limit": 10}, "idx_sessions_number", False),
}


@pytest.fixture
def recorded(engine: Engine) -> Engine:
    """An app with some hundred calls."""
    open_session(engine, "one")
    write(engine, take_apps, "one", [KITCHEN], NOW)
    write(engine, begin_app, "one", "kitchen", ["light.*"], registered(), NOW)
    calls = AppRecord(
        app_key="kitchen",
        invocations=(*(invocation(number) for number in range(400)), *(failed(number) for number in range(400, 420))),
        executions=tuple(execution(number) for number in range(1_000, 1_400)),
    )
    write(engine, record_calls, "one", 1, [calls], 0, NOW)
    for table in ("handler_invocations", "job_executions", "listeners", "scheduled_jobs", "apps", "sessions"):
        engine.maintenance().analyse(table)
    return engine


@pytest.mark.parametrize("name", PLANS)
def test_a_statement_about_calls_uses_its_index(recorded: Engine, name: str) -> None:
    params, index, in_order = PLANS[name]
    text = "\n".join(explained(recorded, getattr(sql, name), params))
    assert index in text
    if in_order:
        assert not re.search(r"TEMP B-TREE|Sort", text)
