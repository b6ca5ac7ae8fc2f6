"""The doctor finds what must never be: every invariant is broken on purpose and reported, that one and no other."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast.core.messages.machines import TokenSetting
from holdfast.core.messages.maintenance import Violation
from holdfast.core.messages.schedules import NewSchedule
from holdfast.core.messages.templates import NewTemplate
from holdfast.core.messages.webhooks import NewWebhook
from holdfast.core.rules.tokens import Tokens
from holdfast.core.values.group import Dependency, GroupMode
from holdfast.store.engine import Engine
from holdfast.store.scripts.machines.tokens import note_tokens
from holdfast.store.scripts.maintenance.doctor import broken_invariants, examine
from holdfast.store.scripts.schedules.schedules import put_schedule
from holdfast.store.scripts.schedules.templates import put_template
from holdfast.store.scripts.webhooks.webhooks import put_webhook
from holdfast.store.statements import statements
from tests.store.acts import (
    FAILED,
    NOW,
    claim_one,
    claim_some,
    execute,
    group,
    new_job,
    put,
    put_and_end,
    put_one,
    statement,
    write,
)
from tests.store.unguarded import unguarded

INVARIANTS = statements("sql/invariants").names
# A workspace of the user `local`; its name, phase and conditions follow.
WORKSPACE = (
    "INSERT INTO workspaces (id, owner_user_id, home_store_key, created_at, updated_at, node, command, "
    "phase_changed_at, name, phase, conditions) SELECT 'w1', 'local', 'ws', 1, 1, 'node', '[]', 1, "
)
SEEN = (
    '{"storage.volume_ready":{"status":false},"storage.archive_ready":{"status":false},'
    '"infra.container_ready":{"status":false},"policy.healthy":{"status":true}}'
)


def world(engine: Engine) -> None:
    """Something of everything, and all of it sound."""
    put_and_end(engine, "done")
    put_and_end(engine, "failed", FAILED)
    put(engine, new_job("running1"), new_job("running2"))
    claim_some(engine)
    write(engine, note_tokens, "node", TokenSetting(tokens=Tokens(cpu=1)), False, NOW)
    group(engine, "g", GroupMode.SEQUENTIAL)
    put(
        engine,
        new_job("ready"),
        new_job("later", delay_ms=50),
        new_job("child", after=(Dependency("ready"),)),
        new_job("about", subject="s", generation=7),
        new_job("listening", wait_for_event="git:*", event_attributes={"branch": "main"}),
    )
    write(engine, put_template, NewTemplate(id="t", name="clean", task="t"), NOW)
    write(engine, put_schedule, NewSchedule(id="s", name="nightly", template="clean", cron="0 0 * * *"), NOW)
    write(engine, put_webhook, NewWebhook(id="w", url="http://hook.example", patterns=("git:*",)), NOW)


BREAKS: list[tuple[str, str, list[dict[str, Any]]]] = [
    (
        "chain_continues_a_failure",
        "UPDATE jobs SET retry_of = 'done' WHERE id = 'ready'",
        [{"id": "ready", "retry_of": "done", "state": "DONE"}],
    ),
    (
        "closed_run_has_finished_at",
        "UPDATE job_runs SET finished_at = NULL WHERE job_id = 'done'",
        [{"status": "COMPLETED", "finished_at": None}],
    ),
    (
        "closed_run_has_finished_at",
        "UPDATE job_runs SET finished_at = 5 WHERE job_id = 'running1'",
        [{"status": None, "finished_at": 5}],
    ),
    (
        "condition_names_a_job_that_can_end",
        "UPDATE job_conditions SET key = 'after:done' WHERE job_id = 'child'",
        [{"job_id": "child", "key": "after:done"}],
    ),
    (
        "condition_names_a_job_that_can_end",
        "UPDATE job_conditions SET key = 'group:nobody' WHERE job_id = 'child'",
        [{"job_id": "child", "key": "group:nobody"}],
    ),
    (
        "counts_agree",
        "UPDATE queue_counts SET jobs = jobs + 5 WHERE state = 'DONE'",
        [{"queue": "default", "state": "DONE", "listed": 6, "counted": 1}],
    ),
    (
        "counts_agree",
        "DELETE FROM queue_counts WHERE state = 'DONE'",
        [{"queue": "default", "state": "DONE", "listed": 0, "counted": 1}],
    ),
    (
        "dead_letter_of_a_failure",
        "INSERT INTO dead_letters (job_id, number, fingerprint, kind, failed_at) VALUES ('done', 1, 'f', 'infra', 5)",
        [{"job_id": "done", "state": "DONE"}],
    ),
    (
        "ended_has_finished_at",
        "UPDATE jobs SET finished_at = NULL WHERE id = 'done'",
        [{"id": "done", "state": "DONE", "finished_at": None}],
    ),
    (
        "ended_has_finished_at",
        "UPDATE jobs SET finished_at = 5 WHERE id = 'later'",
        [{"id": "later", "state": "SCHEDULED", "finished_at": 5}],
    ),
    (
        "app_has_an_owner_that_lives",
        "INSERT INTO apps (app_key, class, status, session_id) VALUES ('kitchen', 'Kitchen', 'running', 'nobody')",
        [{"app_key": "kitchen", "status": "running", "session_id": "nobody"}],
    ),
    (
        "running_workspace_names_a_home",
        f"{WORKSPACE} 'dev', 'RUNNING', '{{}}'",
        [{"name": "dev"}],
    ),
    (
        "workspace_phase_follows_conditions",
        f"{WORKSPACE} 'dev', 'STANDBY', '{SEEN}'",
        [{"name": "dev", "phase": "STANDBY", "conditions": SEEN}],
    ),
    (
        "workspace_operation_has_its_job",
        "UPDATE jobs SET queue = 'holdfast.workspaces' WHERE id = 'later'",
        [{}],
    ),
    (
        "patterns_of_apps_have_one",
        "INSERT INTO event_patterns (pattern, attributes, owner) VALUES ('light.*', '[]', 'app:kitchen')",
        [{"pattern": "light.*", "owner": "app:kitchen"}],
    ),
    (
        "event_conditions_come_together",
        "UPDATE job_conditions SET satisfied_by = 'e1' WHERE key = 'event.branch'",
        [{"job_id": "listening", "key": "event.branch"}],
    ),
    (
        "waited_for_events_are_known",
        "DELETE FROM event_patterns WHERE owner = ''",
        [{"job_id": "listening", "value": 'git:*?{"branch":"main"}'}],
    ),
    (
        "one_automatic_retry",
        "UPDATE jobs SET retry_of = 'failed' WHERE id IN ('ready', 'later')",
        [{"retry_of": "failed", "retries": 2}],
    ),
    (
        "one_delivery_per_event",
        "INSERT INTO webhook_deliveries (id, webhook_id, event_id, event_name, job_id, created_at)"
        " VALUES ('d1', 'w', 'e', 'git:push', 'ready', 0), ('d2', 'w', 'e', 'git:push', 'later', 0)",
        [{"webhook_id": "w", "event_id": "e", "deliveries": 2}],
    ),
    (
        "one_first_job_per_tick",
        "UPDATE jobs SET schedule_id = 'daily', fire_time = 5 WHERE id IN ('ready', 'later')",
        [{"schedule_id": "daily", "fire_time": 5, "jobs": 2}],
    ),
    (
        "one_reservation_per_scope",
        "INSERT INTO direct_reservations (id, scope, reserved_by, session_id, status, ttl_ms, reserved_at, expires_at)"
        " VALUES ('r1', 'q', 'me', 's1', 'ACTIVE', 1, 0, 1), ('r2', 'q', 'me', 's1', 'ACTIVE', 1, 0, 1)",
        [{"id": "r1", "scope": "q", "other_id": "r2", "other_scope": "q"}],
    ),
    (
        "one_reservation_per_scope",
        "INSERT INTO direct_reservations (id, scope, reserved_by, session_id, status, ttl_ms, reserved_at, expires_at)"
        " VALUES ('r1', '*', 'me', 's1', 'ACTIVE', 1, 0, 1), ('r2', 'q', 'me', 's1', 'ACTIVE', 1, 0, 1)",
        [{"id": "r1", "scope": "*", "other_id": "r2", "other_scope": "q"}],
    ),
    (
        "one_running_per_sequence",
        "UPDATE jobs SET group_id = 'g' WHERE state = 'RUNNING'",
        [{"group_id": "g", "running": 2}],
    ),
    (
        "one_running_per_subject",
        "UPDATE jobs SET subject_key = 's', generation = 6 WHERE state = 'RUNNING'",
        [{"job_type": "t", "subject_key": "s", "running": 2}],
    ),
    (
        "open_conditions_are_counted",
        "UPDATE jobs SET open_conditions = 2 WHERE id = 'child'",
        [{"id": "child", "state": "SCHEDULED", "open_conditions": 2, "open_rows": 1}],
    ),
    (
        "open_conditions_are_counted",
        "UPDATE jobs SET open_conditions = 1 WHERE id = 'ready'",
        [{"id": "ready", "state": "QUEUED", "open_conditions": 1, "open_rows": 0}],
    ),
    (
        "ready_tenant_waits",
        "INSERT INTO tenants (queue, tenant, is_waiting) VALUES ('default', 'x', 1)",
        [{"queue": "default", "tenant": "default"}] * 2,
    ),
    (
        "run_has_a_job",
        "INSERT INTO job_runs (id, job_id, attempt, status, params_snapshot, started_at, finished_at)"
        " VALUES ('stray', 'nobody', 1, 'FAILED', '', 0, 1)",
        [{"id": "stray", "job_id": "nobody"}],
    ),
    (
        "running_belongs_to_live_session",
        "UPDATE sessions SET status = 'unknown', stopped_at = 5",
        [{"session_id": "s1", "status": "unknown"}] * 2,
    ),
    (
        "running_has_one_open_run",
        "DELETE FROM job_runs WHERE job_id = 'running1'",
        [{"id": "running1", "state": "RUNNING", "open_runs": 0}],
    ),
    (
        "running_has_one_open_run",
        "INSERT INTO job_runs (id, job_id, attempt, params_snapshot, started_at) VALUES ('x', 'ready', 1, '', 0)",
        [{"id": "ready", "state": "QUEUED", "open_runs": 1}],
    ),
    (
        "running_has_one_open_run",
        "INSERT INTO job_runs (id, job_id, attempt, params_snapshot, started_at) VALUES ('x', 'running1', 2, '', 0)",
        [{"id": "running1", "state": "RUNNING", "open_runs": 2}],
    ),
    (
        "running_has_one_open_run",
        "UPDATE jobs SET run_id = 'another' WHERE id = 'running1'",
        [{"id": "running1", "run_id": "another", "open_runs": 1}],
    ),
    (
        "schedule_fires_or_says_why_not",
        "UPDATE schedules SET next_trigger_at = last_fire_time",
        [{"id": "s", "next_trigger_at": NOW}],
    ),
    (
        "schedule_fires_or_says_why_not",
        "UPDATE schedules SET enabled = 0, next_trigger_at = NULL",
        [{"id": "s", "enabled": 0, "disabled_reason": None}],
    ),
    (
        "schedule_fires_or_says_why_not",
        "UPDATE job_templates SET archived_at = 5",
        [{"id": "s", "enabled": 1, "archived_at": 5}],
    ),
    (
        "scheduled_waits_for_something",
        "UPDATE jobs SET scheduled_at = NULL WHERE id = 'later'",
        [{"id": "later", "scheduled_at": None, "open_conditions": 0}],
    ),
    (
        "subject_knows_every_generation",
        "DELETE FROM subjects",
        [{"id": "about", "subject_key": "s", "generation": 7, "newest": None}],
    ),
    (
        "subject_knows_every_generation",
        "UPDATE subjects SET generation = 6",
        [{"id": "about", "subject_key": "s", "generation": 7, "newest": 6}],
    ),
    (
        "task_version_lives_while_offered",
        "INSERT INTO task_versions (task, digest, options, arguments, live_since, offered_at, declared_at) "
        "VALUES ('t', 'd', '{}', '{}', 5, 5, 5)",
        [{"task": "t", "digest": "d", "live_since": 5}],
    ),
    (
        "tokens_within_capacity",
        "UPDATE jobs SET cpu = 2, started_at = 1700000000009 WHERE id = 'running1'",
        [{"node": "node", "cpu": 1, "cpu_in_use": 2}],
    ),
    (
        "tries_within_attempts",
        "UPDATE jobs SET transient_tries = 1, infra_tries = 1 WHERE id = 'done'",
        [{"id": "done", "attempts": 1, "transient_tries": 1, "infra_tries": 1}],
    ),
    (
        "tries_within_attempts",
        "UPDATE jobs SET deaths = 1 WHERE id = 'done'",
        [{"id": "done", "infra_tries": 0, "deaths": 1}],
    ),
    (
        "webhook_listens_unless_paused",
        "DELETE FROM event_patterns WHERE owner = 'w'",
        [{"id": "w", "is_enabled": 1, "patterns": 0}],
    ),
    (
        "waiting_is_newest_generation",
        "UPDATE subjects SET generation = 8",
        [{"id": "about", "subject_key": "s", "generation": 7, "newest": 8}],
    ),
]


@pytest.mark.parametrize(("invariant", "breaks", "rows"), BREAKS, ids=[name for name, _, _ in BREAKS])
def test_a_broken_invariant_is_reported_with_its_rows(
    engine: Engine, invariant: str, breaks: str, rows: list[dict[str, Any]]
) -> None:
    world(engine)
    with unguarded(engine) as tx:
        assert broken_invariants(tx) == []
        tx.run(statement(breaks))
        [violation] = broken_invariants(tx)
    assert violation.invariant == invariant
    shown = [{name: row[name] for name in expected} for row, expected in zip(violation.rows, rows, strict=True)]
    assert shown == rows


@pytest.mark.parametrize("invariant", INVARIANTS)
def test_every_invariant_is_broken_by_a_test(invariant: str) -> None:
    assert invariant in {name for name, _, _ in BREAKS}


def test_a_sound_database_is_reported_as_such(engine: Engine) -> None:
    world(engine)
    assert examine(engine) == []


@pytest.mark.broken_on_purpose
def test_the_doctor_sees_what_is_stored(engine: Engine) -> None:
    put_one(engine, "a", subject="s")
    claim_one(engine)
    execute(engine, "DELETE FROM subjects")
    execute(engine, "UPDATE queue_counts SET jobs = 3 WHERE state = 'RUNNING'")
    assert examine(engine) == [
        Violation("counts_agree", [{"queue": "default", "state": "RUNNING", "listed": 3, "counted": 1}]),
        Violation("subject_knows_every_generation", [{"id": "a", "subject_key": "s", "generation": 1, "newest": None}]),
    ]


def test_what_is_broken_for_the_doctor_is_not_broken_for_others(engine: Engine) -> None:
    put_one(engine, "a", now=NOW)
    with unguarded(engine) as tx:
        tx.run(statement("DELETE FROM jobs"))
        tx.run(statement("DELETE FROM queue_counts"))
    assert examine(engine) == []
    assert claim_one(engine).job_id == "a"
