"""Every statement that looks for jobs or runs, with the indexes that it must use."""

from __future__ import annotations

import json
from typing import Any

from msgspec import Struct

from holdfast.core.rules.limits import MAX_INT
from holdfast.store.statements import Dialect


class Plan(Struct, frozen=True):
    """What a statement is run with and the indexes it must use; `in_order`: they give the order too, without a sort."""

    params: dict[str, Any]
    indexes: tuple[str, ...]
    in_order: bool = False


JOB, NUMBER, RUN = "jobs by id", "jobs by number", "runs by id"
# Of those there are never many, so that walking through all of them is as good.
RUNNING, OPEN_RUN = "running jobs by id", "open runs by id"
NAMES = {
    Dialect.SQLITE: {
        JOB: "sqlite_autoindex_jobs_1",
        NUMBER: "INTEGER PRIMARY KEY",
        RUN: "sqlite_autoindex_job_runs_1",
        RUNNING: "sqlite_autoindex_jobs_1",
        OPEN_RUN: "sqlite_autoindex_job_runs_1",
    },
    Dialect.POSTGRES: {
        JOB: "jobs_id_key",
        NUMBER: "jobs_pkey",
        RUN: "job_runs_pkey",
        RUNNING: "jobs_id_key|idx_jobs_state_queue|idx_jobs_running_by_session",
        OPEN_RUN: "job_runs_pkey|idx_job_runs_open|idx_job_runs_of_job",
    },
}
COMMANDS = "idx_jobs_commands"
POP, STATE, BY_SESSION = "idx_jobs_pop", "idx_jobs_state_queue", "idx_jobs_running_by_session"
BUSY, CHAIN, GROUP = "idx_jobs_one_running_per_subject", "idx_jobs_retry_of", "idx_jobs_group"
LETTERS_OPEN = "idx_dead_letters_open"
LIVE = "idx_jobs_group_live"
TAG, SUBJECT, RUNS_OF = "idx_jobs_user_tag", "idx_jobs_subject_generation", "idx_job_runs_of_job"

LANE = {
    "queue": "q1",
    "lane": 0,
    "tenant": "default",
    "tenants": '["default"]',
    "priority": 0,
    "position": 500,
    "created_at": 5,
    "id": "QUEUED6",
    "node": 2,
}
NUMBERS = {"lane": 0, "node": 0, "open_lanes": 0, "slots": 9, "limit": 9, "priority": 0, "now": 1}
CLOCK = {"now": 50, "before": 50, "limit": 10}
NEEDS = {"cpu": 4, "gpu": 1, "io": 2}
ABOUT = {"job_type": "t2", "subject_key": "c::r::QUEUED2", "generation": 1, "now": 1, "reason": "x"}
ONE = {"id": "DONE6", "job_id": "DONE6", "run_id": "run of DONE6", "now": 1}
OPEN = dict.fromkeys(
    ("state", "queue", "task", "tag", "tenant", "group_id", "subject_from", "subject_to", "created_after", "error_text")
) | {"below": MAX_INT, "limit": 50, "without_system": 0}
ROW = (
    ONE
    | dict.fromkeys(("session_id", "worker_id", "number", "result", "duration_ms", "exit_code", "status", "traceback"))
    | dict.fromkeys(("error_kind", "error_code", "error", "state", "until", "reason", "is_suspect"))
    | dict.fromkeys(
        ("transient_tries", "infra_tries", "deaths", "artifacts", "log_path", "artifact_path", "secret_hash")
    )
)
ROWS = ROW | {"rows": json.dumps([ONE | {"number": 6}]), "count": 1}

PLANS = {
    "claimable": Plan(LANE | {"tasks": '["t1"]', "slots": 9, "now": 1}, (POP, BUSY), in_order=True),
    "claimable_commands": Plan(LANE | {"slots": 9, "now": 1}, (COMMANDS, BUSY), in_order=True),
    "claimable_fair": Plan(LANE | {"tasks": '["t1"]', "slots": 9, "now": 1}, (POP, BUSY)),
    "claimable_commands_fair": Plan(LANE | {"slots": 9, "now": 1}, (COMMANDS, BUSY)),
    "let_tenant_rest": Plan(LANE, (POP,)),
    "idle_defaults": Plan({"queue": "q1"}, (POP,)),
    "put_weight": Plan({"queue": "q1", "tenant": "default", "weight": 10}, (POP,)),
    "ahead_in_line": Plan(LANE | {"most": 9}, (POP,)),
    "tenants_in_line": Plan(LANE | {"looked_at": 9, "limit": 3}, (POP,)),
    "ready_queues": Plan({}, (POP,), in_order=True),
    "ready_command_queues": Plan({}, (COMMANDS,), in_order=True),
    "list_workspaces": Plan({}, (JOB,)),
    "workspace_by_id": Plan({"id": "x6"}, (JOB,)),
    "workspace_by_name": Plan({"name": "x6"}, ("idx_workspaces_name", JOB)),
    "workspaces_of_node": Plan({"node": "n1"}, (JOB,)),
    "workspace_of_run": Plan({"run_id": "run of DONE6", "op_id": "o6"}, (OPEN_RUN,)),
    "known_jobs": Plan({"ids": '["DONE6"]'}, (JOB,)),
    "note_start_of_job": Plan(ONE | {"session_id": "s1", "log_path": None}, (RUNNING, RUN)),
    "note_start_of_run": Plan(ROW | {"session_id": "s1", "pid": 1, "pid_started_at": 1}, (OPEN_RUN,)),
    "processes_of_session": Plan({"session_id": "s1"}, (BY_SESSION, RUN)),
    "claimable_suspect": Plan({"number": 3000, "open_lanes": 0, "node": 2, "now": 1}, (NUMBER, BUSY)),
    "ready_suspects": Plan(
        CLOCK | {"queues": '["q1"]', "tasks": '["t1"]', "open_lanes": 0, "node": 2},
        ("idx_jobs_suspect",),
        in_order=True,
    ),
    "any_gated": Plan({}, ("idx_jobs_gated",)),
    "lanes_of_queue": Plan(LANE, (f"{POP}|idx_jobs_gated",)),
    "tied_jobs": Plan({"node": 2, "limit": 9}, ("idx_jobs_tied",), in_order=True),
    "tie_job": Plan({"number": 6, "node": 2}, (NUMBER,)),
    "token_queues": Plan({}, ("idx_jobs_gated",)),
    "tokens_in_use": Plan({"node": "n1", "session_id": "s1"}, ("idx_jobs_holding_tokens",)),
    "newest_token_start": Plan({"node": "n1"}, (f"idx_jobs_holding_tokens|{BY_SESSION}",)),
    "list_node_tokens": Plan({}, (f"idx_jobs_holding_tokens|{BY_SESSION}",)),
    "overdue_jobs": Plan(CLOCK | NEEDS | {"open_lanes": 3, "node": 2}, ("idx_jobs_passed", BUSY), in_order=True),
    "line_heads": Plan(LANE | CLOCK | NEEDS | {"lanes": "[0, 4]", "tasks": '["t1"]'}, (POP, BUSY)),
    "command_line_heads": Plan(LANE | CLOCK | NEEDS | {"lanes": "[0, 4]"}, (COMMANDS, BUSY)),
    "claimable_numbers": Plan({"numbers": "[6]"}, (NUMBER,)),
    "any_favoured": Plan({}, ("idx_jobs_suspect", "idx_jobs_passed")),
    "any_alone": Plan({"ids": '["DONE6"]'}, ("idx_jobs_suspect", JOB)),
    "note_passed": Plan(ROW | {"number": 6}, (NUMBER,)),
    "age_job": Plan(LANE | {"number": 6}, (NUMBER,)),
    "gated_queues": Plan({}, ("idx_jobs_gated",)),
    "newest_number": Plan({}, (), in_order=True),
    "waiting_for_event": Plan(CLOCK | {"keys": '["a"]', "upto_number": 10**9}, ("idx_job_conditions_lookup", JOB)),
    "trigger_of_job": Plan(ONE, (JOB,)),
    "freed_queues": Plan({"ids": '["DONE6"]'}, (JOB, STATE, POP, "idx_jobs_one_waiting_per_subject")),
    "any_held_by_runs": Plan({}, ("idx_jobs_one_waiting_per_subject",)),
    "any_ready": Plan(LANE, (POP,), in_order=True),
    "list_deliveries": Plan(
        CLOCK | {"webhook_id": "w1", "below_moment": 9, "below_id": "d1", "failed": 0},
        ("idx_webhook_deliveries_newest", JOB, RUNS_OF),
    ),
    "delivery_by_id": Plan(ONE, (JOB, RUNS_OF)),
    "live_deliveries": Plan({"webhook_id": "w1", "limit": 9}, ("idx_webhook_deliveries_newest", JOB)),
    "payload_of_open_run": Plan(ONE | {"task": "t1", "queue": "q1"}, (OPEN_RUN, RUNNING)),
    "deliveries_of_event": Plan(CLOCK | {"event_id": "e1"}, ("idx_webhook_deliveries", JOB)),
    "triggered_jobs": Plan(CLOCK | {"event_id": "e1"}, ("idx_job_conditions_satisfied_by", JOB)),
    "claim_job": Plan(ROWS, (NUMBER,)),
    "highest_position": Plan(LANE, (POP,), in_order=True),
    "arrival": Plan(LANE | {"task": "t1", "now": 1, "latest": 2, "node": None}, (POP,), in_order=True),
    "last_in_line": Plan(LANE | {"below": 5, "upto": 10**9, "limit": 3}, (POP,)),
    "newest_scheduled": Plan(LANE | {"below": 5, "upto": 10**9, "limit": 3, "depth": 9}, (STATE,)),
    "lowest_position": Plan(LANE, (POP,), in_order=True),
    "neighbour_after": Plan(LANE, (POP,), in_order=True),
    "neighbour_before": Plan(LANE, (POP,), in_order=True),
    "queue_in_order": Plan(LANE, (POP, STATE)),
    "place_job": Plan(LANE | ONE, (JOB,)),
    "set_position": Plan(LANE | {"number": 6}, (NUMBER,)),
    "edit_payload": Plan(ONE | {"payload": "{}"}, (JOB,)),
    "waiting_after": Plan(CLOCK | {"queue": "q1", "number": 5, "upto_number": 10**9}, (STATE, RUNS_OF), in_order=True),
    "move_job": Plan({"number": 6, "step_ms": 1}, (NUMBER,)),
    "promote_due": Plan(CLOCK, ("idx_jobs_due", NUMBER), in_order=True),
    "expired_by_deadline": Plan(CLOCK, ("idx_jobs_deadline",), in_order=True),
    "expired_by_ttl": Plan(CLOCK, ("idx_jobs_ttl",)),
    "next_moment": Plan({}, ("idx_jobs_due", "idx_jobs_ttl", "idx_jobs_deadline"), in_order=True),
    "stop_requests": Plan({"session_id": "s1"}, ("idx_jobs_stop_requested",)),
    "session_load": Plan({"session_id": "s1"}, (BY_SESSION, "idx_jobs_tied")),
    "running_jobs_of_session": Plan({"session_id": "s1", "limit": 10}, (BY_SESSION, RUN)),
    "queues_of_session": Plan({"session_id": "s1"}, (BY_SESSION,)),
    "ended_job": Plan(ONE, (JOB,)),
    "jobs_with_breaker": Plan({"ids": '["DONE6"]'}, (JOB,)),
    "note_runs_lost": Plan({"id": "s1"}, (BY_SESSION,)),
    "close_session": Plan(
        {
            "id": "s1",
            "status": "success",
            "stopped_at": 1,
            "error_type": None,
            "error_message": None,
            "error_traceback": None,
        },
        (BY_SESSION,),
    ),
    "offers": Plan({}, (BY_SESSION,)),
    "running_by_queue": Plan({"session_id": "s1"}, (BY_SESSION,)),
    "running_by_tenant": Plan({"session_id": "s1", "queue": "default"}, (f"idx_jobs_state_queue|{BY_SESSION}",)),
    "list_workers": Plan({}, (BY_SESSION,)),
    "ready_since": Plan(LANE, (POP,), in_order=True),
    "ended_of_late": Plan({"since": 50, "upto": 100, "most": 10}, ("idx_jobs_gc",)),
    "ask_to_yield": Plan({"node": "n", "holds": 1, "now": 1}, (RUN,)),
    "count_ended_since": Plan({"since": 50, "most": 10}, ("idx_jobs_gc",)),
    "running_in_scope": Plan({"scope": "q1"}, (STATE,)),
    "queue_gates": Plan(LANE, (STATE,)),
    "why_facts": Plan(ONE, (JOB, BUSY)),
    "finished_before": Plan(CLOCK, ("idx_jobs_gc", CHAIN), in_order=True),
    "delete_job": Plan(ONE, (JOB,)),
    "dependents": Plan({"after_key": "after:a", "group_key": "group:a"}, ("idx_job_conditions_lookup", JOB)),
    "awaited_turn": Plan(ONE, (JOB,)),
    "count_down_conditions": Plan(ONE | {"count": 1}, (JOB,)),
    "find_by_generation": Plan(ABOUT, (SUBJECT,)),
    "find_by_idempotency_key": Plan({"job_type": "t2", "idempotency_key": "keyDONE3"}, ("idx_jobs_idempotency",)),
    "waiting_of_subject": Plan(ABOUT, ("idx_jobs_one_waiting_per_subject",)),
    "supersede_waiting": Plan(ABOUT, ("idx_jobs_one_waiting_per_subject",)),
    "ask_older_to_stop": Plan(ABOUT, (BUSY,)),
    "last_link": Plan(ONE, (JOB, CHAIN)),
    "chain_of_job": Plan(ONE, (JOB, CHAIN)),
    "last_group_member": Plan({"group_id": "g3"}, (GROUP,), in_order=True),
    "group_last_links": Plan({"group_id": "g3"}, (GROUP, CHAIN)),
    "group_members": Plan({"group_id": "g3", "above": 0, "limit": 10}, (GROUP, CHAIN)),
    "group_is_live": Plan({"group_id": "g3"}, (LIVE,), in_order=True),
    "last_in_sequence": Plan({"group_id": "g3"}, (LIVE, "idx_job_conditions_lookup", JOB)),
    "reopen_group": Plan({"group_id": "g3", "now": 1}, (LIVE,)),
    "retries_of_job": Plan({"job_id": "DONE6"}, ("idx_jobs_retried_from",)),
    "group_of_job": Plan(ONE, (JOB,)),
    "previous_member": Plan(ONE, (JOB, GROUP)),
    "predecessors": Plan(ONE, (JOB, CHAIN)),
    "delete_empty_groups": Plan(CLOCK, (GROUP,)),
    "live_ids_by_group": Plan({"group_id": "g3", "limit": 10}, (GROUP,)),
    "live_ids_by_tag": Plan({"tag": "tag5", "limit": 10}, (TAG,)),
    "list_jobs": Plan(OPEN, (NUMBER,), in_order=True),
    "list_jobs_by_tag": Plan(OPEN | {"tag": "tag5"}, (TAG,)),
    "list_jobs_by_schedule": Plan(OPEN | {"schedule_id": "s1"}, ("idx_jobs_schedule",)),
    "list_jobs_by_group": Plan(OPEN | {"group_id": "g3"}, (GROUP,)),
    "list_jobs_by_subject": Plan(
        OPEN | {"subject_from": "c::r::QUEUED2", "subject_to": "c::r::QUEUED3", "limit": 500}, (SUBJECT,)
    ),
    "ended_in_queue": Plan(LANE | CLOCK | {"state": "DONE", "task": "t1"}, (STATE,)),
    "list_jobs_by_state": Plan(OPEN | {"state": "SCHEDULED", "queue": "q1"}, (STATE,), in_order=True),
    "list_jobs_ready": Plan(OPEN | {"queue": "q1"}, (POP,)),
    "open_jobs_of_schedule": Plan({"schedule_id": "s1", "limit": 1}, ("idx_jobs_open_of_schedule",), in_order=True),
    "job_of_tick": Plan({"schedule_id": "s1", "fire_time": 5}, ("idx_jobs_once_per_tick",)),
    "job_by_id": Plan(ONE, (JOB,)),
    "run_by_id": Plan(ONE | {"id": "run of DONE6"}, (RUN,)),
    "job_by_number": Plan({"number": 6}, (NUMBER,)),
    "documents_of_job": Plan({"number": 6}, (NUMBER,)),
    "listed_jobs": Plan({"numbers": "[6]", "most": 9, "head": 9}, (NUMBER,)),
    "ranked_jobs": Plan({"numbers": "[6]"}, (NUMBER,)),
    "job_of_run": Plan(ONE, (RUN, JOB)),
    "runs_of_job": Plan(ONE | {"most": 9, "head": 9}, (RUNS_OF,), in_order=True),
    "last_run": Plan(ONE, (RUNS_OF,), in_order=True),
    "insert_lost_run": Plan(ROW, (JOB, RUNS_OF)),
    "continue_job": Plan(ROW | {"new_id": "x"}, (JOB,)),
    "complete_job": Plan(ROWS, (RUNNING,)),
    "close_completed_run": Plan(ROWS, (OPEN_RUN,)),
    "close_run": Plan(ROWS, (OPEN_RUN,)),
    "end_job": Plan(ROWS, (RUNNING,)),
    "send_job_back": Plan(ROWS, (RUNNING,)),
    "end_waiting_job": Plan(ROW, (JOB,)),
    "request_stop": Plan(ONE, (JOB,)),
    "replace_running": Plan(ONE, (JOB,)),
    "note_progress": Plan(ONE | {"fraction": 0.5, "text": None, "session_id": "s1"}, (RUNNING,)),
    "insert_dead_letter": Plan(ROW | {"fingerprint": "f1", "kind": "infra"}, (JOB,)),
    "list_dead_letters": Plan(
        {"first": "f3", "last": "f3", "below_moment": MAX_INT, "below_fingerprint": "g", "limit": 1, "poison": 0},
        (LETTERS_OPEN, NUMBER),
    ),
    "unnamed_dead_letters": Plan({"limit": 5}, (LETTERS_OPEN, JOB)),
    "save_checkpoint": Plan(ONE | {"data": "1", "secret_hash": None}, (JOB,)),
    "secret_of_run": Plan(ONE, (RUN,)),
    "reserved_jobs": Plan(
        {"queue": "holdfast", "first": "holdfast.", "behind": "holdfast/", "limit": 5},
        (POP, STATE),
    ),
    "undeclared_tasks": Plan(
        {"command": "command", "first": "holdfast.", "behind": "holdfast/", "limit": 5},
        (POP, STATE),
    ),
    "open_chore": Plan({"queue": "q1", "task": "t1"}, (POP, STATE)),
    "maintainers": Plan({"tasks": "[]", "queues": "[]", "queue": "q1"}, (STATE, BY_SESSION)),
    "tight_lines": Plan({"gap": 2, "highest": 5, "limit": 5}, (POP,)),
}
