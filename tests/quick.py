"""Which tests are quick: they start no process and need no PostgreSQL. `make quick` runs them alone."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from holdfast.store.statements import Dialect

HERE = Path(__file__).parent
FOLDERS = frozenset(HERE / name for name in ("core", "model", "observe", "runtime", "store"))
SLOWER = ("alone", "long", "processes")
STARTS = ("subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn")


def wants_quick(config: pytest.Config) -> bool:
    """Whether a run is one of quick tests alone."""
    return bool(config.option.markexpr == "quick")


def is_quick(item: pytest.Item) -> bool:
    """Told by its folder, its markers, its fixtures and the engine that it is given."""
    given = item.callspec.params.values() if isinstance(item, pytest.Function) and hasattr(item, "callspec") else ()
    return (
        not FOLDERS.isdisjoint(item.path.parents)
        and not any(item.get_closest_marker(name) for name in SLOWER)
        and "postgres_url" not in getattr(item, "fixturenames", ())
        and not any(value is Dialect.POSTGRES for value in given)
    )


class Guard:
    """Lets nobody start a process while it is on."""

    is_on = False

    def __call__(self, event: str, args: tuple[Any, ...]) -> None:
        if self.is_on and event in STARTS:
            raise RuntimeError(f"a quick test starts a process; give it the marker `processes`: {event} {args}")


guard = Guard()
sys.addaudithook(guard)
