"""What tests do with watches."""

from __future__ import annotations

from typing import Any

from holdfast.core.messages.watches import Watch
from holdfast.core.values.watch import SeenFile
from holdfast.core.watching.new_watch import NewWatch
from holdfast.store.engine import Engine
from holdfast.store.scripts.watches.plans import Planned, plan
from holdfast.store.scripts.watches.watches import add_watch
from tests.store.acts import NOW, select, write


def new(name: str = "src", watch_id: str = "w1", **fields: Any) -> NewWatch:
    return NewWatch(id=watch_id, name=name, **{"path": "/src", "task": "index"} | fields)


def add(engine: Engine, *args: Any, replace: bool = False, **fields: Any) -> Watch:
    return write(engine, add_watch, new(*args, **fields), NOW, replace=replace)


def planned(engine: Engine, *seen: tuple[str, str | None], revision: int = 1, **options: Any) -> Planned:
    return write(engine, plan, "w1", revision, [SeenFile(*item) for item in seen], NOW, **options)


def jobs(engine: Engine) -> list[dict[str, Any]]:
    return select(engine, "SELECT * FROM jobs ORDER BY number")
