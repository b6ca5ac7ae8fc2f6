"""The `[[watch]]` tables of `holdfast.toml`: what each may hold, and its watch."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from holdfast.core.errors import InvalidInput
from holdfast.core.rules import limits
from holdfast.core.settings.watch_settings import SETTINGS
from holdfast.core.values.watch import WatchKind
from holdfast.core.watching.new_watch import NewWatch, make_watch
from holdfast.daemon.settings import setting_tables
from holdfast.daemon.settings.kinds import PLACE, Says
from holdfast.store.engine import new_uuid

KEYS: Mapping[str, Says] = {
    "path": Says("The folder, or the repository, seen from the folder of this file.", PLACE, '"src"'),
    **setting_tables.keys_of(SETTINGS),
}


MEANING = "A folder or a git repository whose changes become jobs, one table for each. Only `path` is needed."


def watches_of(tables: Any, file: Path | None, folder: Path) -> list[NewWatch]:
    """The watches of the tables. InvalidInput names what is wrong, where it is, and what is allowed."""
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise InvalidInput(f"{file}: watch = {limits.shown(tables)} is not valid: write one [[watch]] for each")
    found: dict[str, NewWatch] = {}
    for number, table in enumerate(tables, 1):
        watch = _watch(table, f"{file}: [[watch]] {number}", folder)
        if watch.name in found:
            raise InvalidInput(f"{file}: two [[watch]] are called {watch.name!r}; give one of them another name")
        found[watch.name] = watch
    return list(found.values())


def _watch(table: Mapping[str, Any], where: str, folder: Path) -> NewWatch:
    values = setting_tables.read_table(table, KEYS, f"{where}: ", "a [[watch]]")
    if "path" not in values:
        raise InvalidInput(f"{where}: path is missing: say which folder or repository to watch")
    path = os.path.normpath(folder / os.path.expanduser(values.pop("path")))
    # A file has a word for what is a flag in programs.
    values["git"] = values.pop("kind", None) == WatchKind.GIT
    values.setdefault("name", os.path.basename(path))
    try:
        return make_watch(new_uuid(), path, values)
    except InvalidInput as error:
        raise InvalidInput(f"{where}: {error}") from None
