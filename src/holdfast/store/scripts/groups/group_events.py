"""The events of groups: `group.completed`, `.partial`, `.cancelled`. They are stored only if something waits."""

from __future__ import annotations

from collections.abc import Iterable

from holdfast.core.job import JobId, Millis, StateName
from holdfast.core.values.event import ABOUT_GROUP
from holdfast.store.engine import Tx
from holdfast.store.scripts.events.events import publish
from holdfast.store.scripts.groups.groups import view_group
from holdfast.store.statements import sql


def tell_groups(tx: Tx, job_ids: Iterable[JobId], now: Millis) -> None:
    """Store the events of groups whose last member was among these jobs, which have just ended."""
    if not tx.value(sql.any_group_pattern):
        return
    groups = dict.fromkeys(tx.value(sql.group_of_job, id=job_id) for job_id in job_ids)
    for group_id in groups:
        if group_id is not None and not tx.value(sql.group_is_live, group_id=group_id):
            _tell(tx, group_id, now)


def _tell(tx: Tx, group_id: str, now: Millis) -> None:
    view = view_group(tx, group_id)
    attributes = {
        "group_id": group_id,
        "status": view.status,
        "mode": view.group.mode,
        "jobs": str(len(view.members)),
        "done": str(view.counts.get(StateName.DONE, 0)),
    }
    if view.group.name is not None:
        attributes["name"] = view.group.name
    if view.group.reopened_at is not None:
        attributes["again"] = "true"
    publish(tx, f"{ABOUT_GROUP}{view.status.lower()}", attributes, now)
