"""The `[[watch]]` tables of `holdfast.toml`: what each may say, and the watch that it means."""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from holdfast.client.watches import make_watch
from holdfast.core.errors import InvalidInput
from holdfast.core.limits import shown
from holdfast.core.watch import MAX_JOBS, NewWatch
from holdfast.daemon.kinds import FLAG, TEXT, WORDS, Kind, Says, Wrong, duration, one_of, whole
from holdfast.daemon.queue_tables import RETRY, TIMEOUT
from holdfast.store.engine import new_uuid


def _table(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise Wrong
    return value


_TIME = duration(0, 3_600, "0 seconds to an hour")
KEYS: Mapping[str, Says] = {
    "name": Says("What it is called; by default as the folder is.", TEXT, '"src"'),
    "path": Says("The folder, or the repository, seen from the folder of this file.", TEXT, '"src"'),
    "kind": Says(
        "`folder`: its files. `git`: commits, switches, merges, rebases.", one_of("folder", "git"), '"folder"'
    ),
    "task": Says("The task of the jobs; without one there are only events.", TEXT, '"index_file"'),
    "globs": Says("Which files; by default all.", WORDS, '["**/*.py"]'),
    "ignores": Says("Which not, as in a `.gitignore`.", WORDS, '["generated/"]'),
    "gitignore": Says("Whether what git ignores is left out.", FLAG, "true"),
    "queue": Says("The queue of the jobs.", TEXT, '"default"'),
    "payload": Says(
        "The arguments of the jobs; `{path}` and others stand for what changed.",
        Kind('a table, such as { file = "{path}" }', _table),
        '{ file = "{path}" }',
    ),
    "subject": Says("What a job is about: the newest one wins.", TEXT, '"watch::{watch}::{relative}"'),
    "tenant": Says("Whose jobs they are.", TEXT, '"editor::holdfast"'),
    "priority": Says("Higher runs first.", whole(-1_000_000, 1_000_000), "0"),
    "debounce": Says("How long it must be quiet first.", _TIME, '"100ms"'),
    "max_wait": Says("How long changes wait at most.", _TIME, '"1s"'),
    "max_jobs": Says("More changes than this within 10 s become one job.", whole(1, 10_000), str(MAX_JOBS)),
    "initial": Says("Whether what is there already becomes jobs, too.", FLAG, "false"),
    "settle": Says("How long a file must have stopped changing.", _TIME, '"2s"'),
    "timeout": Says("How long a run of its jobs may take.", TIMEOUT, '"10m"'),
    "retry": Says("How its jobs are tried again, as in `[queues]`.", RETRY, "3"),
    "tokens": Says("What its jobs take of the machine.", Kind("a table, such as { cpu = 2 }", _table), "{ cpu = 2 }"),
}


MEANING = "A folder or a git repository whose changes become jobs, one table for each. Only `path` is needed."


def watches_of(tables: Any, file: Path | None, folder: Path) -> list[NewWatch]:
    """The watches that the tables mean; InvalidInput names what is wrong, where it stands, and what is allowed."""
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise InvalidInput(f"{file}: watch = {shown(tables)} is not valid: write one [[watch]] for each")
    found: dict[str, NewWatch] = {}
    for number, table in enumerate(tables, 1):
        watch = _watch(table, f"{file}: [[watch]] {number}", folder)
        if watch.name in found:
            raise InvalidInput(f"{file}: two [[watch]] are called {watch.name!r}; give one of them another name")
        found[watch.name] = watch
    return list(found.values())


def _watch(table: Mapping[str, Any], where: str, folder: Path) -> NewWatch:
    values: dict[str, Any] = {}
    for key, value in table.items():
        if key not in KEYS:
            close = difflib.get_close_matches(key, KEYS, 1)
            hint = f"did you mean {close[0]}? " if close else ""
            raise InvalidInput(f"{where}: {key} is not known: {hint}a [[watch]] has {', '.join(KEYS)}")
        try:
            values[key] = KEYS[key].kind.read(value)
        except Wrong:
            raise InvalidInput(f"{where}: {key} = {shown(value)} is not valid: use {KEYS[key].kind.allowed}") from None
    if "path" not in values:
        raise InvalidInput(f"{where}: path is missing: say which folder or repository to watch")
    path = os.path.normpath(folder / os.path.expanduser(values["path"]))
    values["git"] = values.get("kind") == "git"
    values.setdefault("name", os.path.basename(path))
    try:
        return make_watch(new_uuid(), path, values)
    except InvalidInput as error:
        raise InvalidInput(f"{where}: {error}") from None
