"""Disable schedules by themselves, each with a reason and an event."""

from __future__ import annotations

from holdfast.core.job import Millis
from holdfast.core.rules.limits import LONGEST_REASON
from holdfast.core.values.event import ABOUT_SCHEDULE
from holdfast.store.engine import Tx
from holdfast.store.scripts.events.events import publish
from holdfast.store.statements import sql


def disable_schedule(tx: Tx, schedule_id: str, name: str, reason: str, now: Millis) -> None:
    """Disable a schedule until it is resumed."""
    if tx.run(sql.disable_schedule, id=schedule_id, reason=reason[:LONGEST_REASON], now=now):
        _tell(tx, schedule_id, name, reason, now)


def disable_schedules_of(tx: Tx, template_id: str, reason: str, now: Millis) -> None:
    """Disable every schedule of a template."""
    stopped = tx.rows(sql.disable_schedules_of_template, template_id=template_id, reason=reason, now=now)
    for row in sorted(stopped, key=lambda row: str(row["id"])):
        _tell(tx, row["id"], row["name"], reason, now)


def _tell(tx: Tx, schedule_id: str, name: str, reason: str, now: Millis) -> None:
    about = {"schedule": name, "schedule_id": schedule_id, "reason": reason[:LONGEST_REASON]}
    publish(tx, f"{ABOUT_SCHEDULE}disabled", about, now)
