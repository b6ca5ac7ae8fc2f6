"""The settings of a queue or a watch as columns of its table, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from msgspec import Struct

from holdfast.core.declared.option_fields import extended
from holdfast.core.declared.setting import Setting
from holdfast.core.settings import queue_settings, watch_settings

S = TypeVar("S", bound=Struct)


class SettingColumns:
    """The columns of one table that hold settings. `types` has the type of each."""

    def __init__(self, settings: Mapping[str, Setting]) -> None:
        self._stored = [
            (field, setting.fields[field], tuple(columns))
            for setting in settings.values()
            for field, columns in setting.columns.items()
        ]
        self.types: Mapping[str, type] = {
            column: kind
            for setting in settings.values()
            for columns in setting.columns.values()
            for column, kind in columns.items()
        }

    def extend(self, kind: type[S]) -> type[S]:
        """A row that has these columns too."""
        return extended(kind, [(column, Any) for column in self.types])

    def store(self, said: Struct) -> dict[str, Any]:
        """The settings, column by column."""
        found: dict[str, Any] = {}
        for field, kind, columns in self._stored:
            value = getattr(said, field)
            made = value if kind.store is None else kind.store(value)
            found |= zip(columns, made if kind.columns else (made,), strict=True)
        return found

    def load(self, row: Struct) -> dict[str, Any]:
        """The settings in a row, as they are sent."""
        found = {}
        for field, kind, columns in self._stored:
            values = tuple(getattr(row, column) for column in columns)
            value = values if kind.columns else values[0]
            found[field] = value if value is None or kind.load is None else kind.load(value)
        return found


QUEUE_COLUMNS = SettingColumns(queue_settings.SETTINGS)
# What a queue says of jobs that say nothing.
OPTION_COLUMNS_OF_QUEUE = SettingColumns(queue_settings.OF_JOBS)
WATCH_COLUMNS = SettingColumns(watch_settings.SETTINGS)
