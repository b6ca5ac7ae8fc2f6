"""A SQLite file with the newest schema. Tests take copies of it, which is much quicker than migrating."""

from __future__ import annotations

import shutil
import tempfile
from functools import cache
from pathlib import Path

from holdfast.store.scripts.queues.queues import list_queues
from holdfast.store.sqlite.engine import SqliteEngine

FOLDER = tempfile.TemporaryDirectory(prefix="holdfast-migrated-")


@cache
def migrated_file() -> Path:
    """The file itself, which nobody may change."""
    path = Path(FOLDER.name) / "migrated.db"
    engine = SqliteEngine(path, now=lambda: 1)
    engine.query(list_queues)
    engine.close()
    return path


def copy_migrated(path: Path) -> Path:
    """Put an empty database there, and give the path back."""
    return Path(shutil.copy(migrated_file(), path))
