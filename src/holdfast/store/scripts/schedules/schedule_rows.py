"""Schedules as they are asked for, as they are stored and as they are shown."""

from __future__ import annotations

import msgspec
from msgspec import Struct

from holdfast.core.errors import Conflict, InvalidInput, NotFound
from holdfast.core.job import Millis
from holdfast.core.messages.schedules import Origin, Schedule, Skips
from holdfast.core.schedules.cron import Cron, parse_stored
from holdfast.core.schedules.schedule import Misfire, Overlap
from holdfast.core.tasks.task import ScheduleOptions
from holdfast.decoding import decode
from holdfast.store.engine import Tx
from holdfast.store.scripts.schedules import templates
from holdfast.store.scripts.schedules.templates import TemplateRow
from holdfast.store.statements import sql


class ScheduleOverrides(Struct, frozen=True, omit_defaults=True):
    """What a schedule has instead of its template, as it is stored."""

    payload: msgspec.Raw = msgspec.Raw(b"{}")
    options: ScheduleOptions = ScheduleOptions()


class ScheduleRow(Struct, frozen=True):
    """A row of `schedules`, with the name of its template."""

    id: str
    template_id: str
    template: str
    name: str
    cron_expression: str
    timezone: str
    enabled: int
    disabled_reason: str | None
    param_overrides: str | None
    misfire: str
    overlap: str
    jitter_ms: Millis
    last_fire_time: Millis | None
    last_triggered_at: Millis | None
    next_trigger_at: Millis | None
    fires: int
    origin: str
    owner: str | None
    created_at: Millis
    updated_at: Millis

    @property
    def settled_until(self) -> Millis:
        """Ticks at or before this moment never fire."""
        return self.created_at if self.last_fire_time is None else self.last_fire_time

    @property
    def overrides(self) -> ScheduleOverrides:
        """What it has instead of its template."""
        return decode(self.param_overrides or "{}", ScheduleOverrides)

    def cron(self) -> Cron:
        """When it fires, or InvalidInput."""
        return parse_stored(self.cron_expression, self.timezone)

    def to_schedule(self, skips: list[Skips], known: bool = True) -> Schedule:
        """The schedule that this row describes. `known`: its task is declared."""
        overrides = self.overrides
        return Schedule(
            id=self.id,
            name=self.name,
            template=self.template,
            template_id=self.template_id,
            cron=self.cron_expression,
            timezone=self.timezone,
            words=self._words(),
            payload=bytes(overrides.payload).decode(),
            options=overrides.options,
            misfire=Misfire(self.misfire),
            overlap=Overlap(self.overlap),
            jitter_ms=self.jitter_ms,
            enabled=bool(self.enabled),
            disabled_reason=self.disabled_reason,
            settled_until=self.settled_until,
            next_fire=self.next_trigger_at,
            last_triggered_at=self.last_triggered_at,
            fires=self.fires,
            skips=skips,
            origin=Origin(self.origin),
            owner=self.owner,
            created_at=self.created_at,
            updated_at=self.updated_at,
            known=known,
        )

    def _words(self) -> str:
        try:
            return self.cron().words
        except InvalidInput as error:
            # It was valid when it was stored. This machine may know fewer time zones.
            return str(error)


def schedule_row(tx: Tx, ref: str) -> ScheduleRow:
    """The row of a schedule by its name or its id, or NotFound."""
    found = tx.one(sql.schedule_by_name, ScheduleRow, name=ref) or tx.one(sql.schedule_by_id, ScheduleRow, id=ref)
    if found is None:
        raise NotFound(f"there is no schedule {ref!r}")
    return found


def usable_template(tx: Tx, ref: str) -> TemplateRow:
    """A template that jobs can be made from."""
    row = templates.template_row(tx, ref)
    if row.archived_at is not None:
        raise Conflict(f"template {row.name!r} is archived; a schedule needs one that is in use")
    return row
