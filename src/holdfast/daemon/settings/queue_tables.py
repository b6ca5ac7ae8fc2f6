"""The `[queues.NAME]` tables of `holdfast.toml`: what each may hold, and what it changes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from holdfast.core.errors import InvalidInput
from holdfast.core.rules import limits
from holdfast.core.settings import queue_changes, rule_table
from holdfast.core.settings.queue_changes import QueueChanges
from holdfast.core.settings.queue_settings import SETTINGS
from holdfast.daemon.settings import setting_tables

KEYS = setting_tables.keys_of(SETTINGS)
_NAMES = {setting.key.name: setting.name for setting in SETTINGS.values()}


MEANING = (
    "What is set for a queue, one table for each; NAME is what it is called. What a table does not name, or no longer "
    "names, stays as it was."
)


def queues_of(tables: Any, file: Path | None) -> dict[str, QueueChanges]:
    """What the tables change, by queue. InvalidInput names what is wrong, where it is, and what is allowed."""
    if not isinstance(tables, dict) or not all(isinstance(table, dict) for table in tables.values()):
        raise InvalidInput(f"{file}: queues = {limits.shown(tables)} is not valid: write one [queues.NAME] for each")
    return {_name(name, file): _changes(table, f"{file}: queues.{name}.") for name, table in tables.items()}


def _name(name: str, file: Path | None) -> str:
    try:
        return rule_table.check("queue", name)
    except InvalidInput as error:
        raise InvalidInput(f"{file}: [queues]: {error}") from None


def _changes(table: Mapping[str, Any], where: str) -> QueueChanges:
    values = setting_tables.read_table(table, KEYS, where, "a queue")
    return queue_changes.make_changes(**{_NAMES[key]: value for key, value in values.items()})
