"""What apps have registered, and what came of each call, as their owner tells it in batches."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from holdfast.core.apps.call import first_call
from holdfast.core.job import Millis, SessionId
from holdfast.core.messages.telemetry import AppRecord, NewCall, Registrations, TimerWish
from holdfast.store.engine import Tx
from holdfast.store.record_columns import as_row
from holdfast.store.scripts.access import session_holders
from holdfast.store.statements import Statement, sql

FORGOTTEN_AT_ONCE = 1_000


def record_calls(
    tx: Tx,
    session_id: SessionId,
    batch: int,
    records: Sequence[AppRecord],
    rows_dropped: int,
    now: Millis,
    secret: str | None = None,
) -> list[str]:
    """Write down what has become of apps. Return the keys of those that the session is not the owner of any more.

    Of these nothing is written. Batches have rising numbers; a repeated one changes nothing. `rows_dropped` is how many
    calls of the session could not be recorded, all in all.
    """
    session_holders.check_holder(tx, session_id, secret)
    number = tx.value(sql.session_number, session_id=session_id)
    tx.run(sql.set_rows_dropped, session_id=session_id, rows_dropped=rows_dropped)
    lost = []
    for record in records:
        app = {"app_key": record.app_key, "instance_index": record.instance_index}
        if tx.run(sql.begin_batch, session_id=session_id, batch=batch, **app):
            _write(tx, record, number, now)
        elif tx.value(sql.owner_of_app, **app) != session_id:
            lost.append(record.app_key)
    return lost


def clear_asked(
    tx: Tx,
    session_id: SessionId,
    app_key: str,
    job_name: str,
    asked: TimerWish,
    instance_index: int = 0,
    secret: str | None = None,
) -> None:
    """Note that a timer has done what was asked of it."""
    session_holders.check_holder(tx, session_id, secret)
    place = {"app_key": app_key, "instance_index": instance_index}
    tx.run(sql.clear_asked, session_id=session_id, job_name=job_name, asked=asked, **place)


def has_old_calls(tx: Tx, before: Millis) -> bool:
    """Whether there are calls that began before a moment."""
    return any(tx.rows(old, before=before, limit=1) for old in (sql.old_invocations, sql.old_executions))


def forget_calls(tx: Tx, before: Millis, limit: int = FORGOTTEN_AT_ONCE) -> int:
    """Remove calls that began before a moment. What is registered stays, and so do the sessions."""
    removed = 0
    for old, delete in ((sql.old_invocations, sql.delete_invocation), (sql.old_executions, sql.delete_execution)):
        rows = tx.rows(old, before=before, limit=limit - removed)
        tx.run_many(delete, rows)
        removed += len(rows)
    return removed


def register(tx: Tx, app_key: str, instance_index: int, registered: Registrations, now: Millis) -> None:
    """Store what an app has registered at its start. What it has no longer is retired."""
    place = {"app_key": app_key, "instance_index": instance_index}
    _put(tx, app_key, instance_index, registered, now)
    tx.run(sql.retire_other_listeners, names=_json(one.name for one in registered.listeners), now=now, **place)
    tx.run(sql.retire_other_timers, names=_json(one.job_name for one in registered.timers), now=now, **place)


def _write(tx: Tx, record: AppRecord, session_number: int, now: Millis) -> None:
    place = {"app_key": record.app_key, "instance_index": record.instance_index}
    _put(tx, record.app_key, record.instance_index, record.registered, now)
    if record.invocations:
        ids = _ids(tx, sql.listener_ids, record, (call.listener for call in record.invocations))
        rows = [
            {**_call_row(call, session_number), "listener_id": ids[call.listener]}
            for call in record.invocations
            if call.listener in ids
        ]
        tx.run_many(sql.insert_invocation, rows)
        tx.run_many(sql.listener_has_run, _last_runs(rows, "listener_id"))
    if record.executions:
        ids = _ids(tx, sql.timer_ids, record, (call.job_name for call in record.executions))
        rows = [
            {**_call_row(call, session_number), "job_id": ids[call.job_name]}
            for call in record.executions
            if call.job_name in ids
        ]
        tx.run_many(sql.insert_execution, rows)
        tx.run_many(sql.timer_has_run, _last_runs(rows, "job_id"))
    for name, count in record.events_dropped.items():
        tx.run(sql.add_events_dropped, name=name, count=count, **place)
    for job_name, next_run_at in record.next_runs.items():
        tx.run(sql.set_next_run, job_name=job_name, next_run_at=next_run_at, **place)
    if record.retired_listeners:
        tx.run(sql.retire_listeners, names=_json(record.retired_listeners), now=now, **place)
    if record.retired_timers:
        tx.run(sql.retire_timers, names=_json(record.retired_timers), now=now, **place)


def _put(tx: Tx, app_key: str, instance_index: int, registered: Registrations, now: Millis) -> None:
    place = {"app_key": app_key, "instance_index": instance_index}
    at = {"first_registered_at": now, "last_registered_at": now}
    tx.run_many(sql.put_listener, [{**place, **as_row(one), **at} for one in registered.listeners])
    tx.run_many(sql.put_timer, [{**place, **as_row(one), **at} for one in registered.timers])


def _ids(tx: Tx, statement: Statement, record: AppRecord, names: Iterable[str]) -> dict[str, int]:
    """The ids of listeners or timers by their names."""
    place = {"app_key": record.app_key, "instance_index": record.instance_index}
    return {row["name"]: row["id"] for row in tx.rows(statement, names=_json(set(names)), **place)}


def _call_row(call: NewCall, session_number: int) -> dict[str, object]:
    row = as_row(call)
    return {**row, "id": first_call(session_number) + row["counter"], "session_number": session_number}


def _last_runs(rows: list[dict[str, object]], parent: str) -> list[dict[str, object]]:
    """The last moment at which each listener or timer began a call."""
    last: dict[object, object] = {}
    for row in rows:
        last[row[parent]] = row["started_at"]
    return [{"id": parent_id, "last_run_at": moment} for parent_id, moment in last.items()]


def _json(names: Iterable[str]) -> str:
    return msgspec.json.encode(sorted(names)).decode()
