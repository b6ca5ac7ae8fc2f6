"""A server that forks a process for each order it reads; the process acts on a database and kills itself on the way.

The points at which it can die are numbered as they come: before each statement (BEGIN and COMMIT among them, each row
of many on its own) and, when the commit is done, before the answer.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future
from functools import wraps
from itertools import count
from typing import Any

import apsw
import msgspec
import psycopg

from holdfast.core.jobs.requests import Claimed
from holdfast.store.engine import Engine
from holdfast.store.postgres.engine import PostgresEngine
from holdfast.store.scripts.queues.queues import list_queues
from holdfast.store.sqlite.engine import SqliteEngine
from tests.chaos.scenarios.shared import NOW
from tests.chaos.scenarios.table import SCENARIOS

COMMIT = "COMMIT"
ANSWER = "the answer"


class Order(msgspec.Struct, frozen=True):
    """Act on the database, and die at the n-th point, of these alone if any are named; at none, if that is 0."""

    target: str
    schema: str
    scenario: str
    nth: int
    runs: dict[str, Claimed]
    points: tuple[str, ...] = ()


class Died(msgspec.Struct, frozen=True):
    """The point at which the process died, None if it came to its end; and how it ended."""

    point: str | None
    code: int


class Trap:
    """Counts the points, and kills its own process at the n-th."""

    def __init__(self, order: Order, said: int) -> None:
        self.is_armed = False
        self._left = order.nth
        self._points = order.points
        self._said = said

    def reach(self, point: str) -> None:
        """Die here if it is time. Threads of a connection pool come when they like, so they do not count."""
        if not self.is_armed or not threading.current_thread().name.startswith("holdfast"):
            return
        if self._points and point not in self._points:
            return
        self._left -= 1
        if not self._left:
            os.write(self._said, " ".join(point.split()).encode())
            os.kill(os.getpid(), signal.SIGKILL)

    def lay(self) -> None:
        """Make every statement on either engine, and every answer, a point. Nothing of Holdfast is touched."""

        def trace(cursor: apsw.Cursor, text: str, bindings: Any) -> bool:
            self.reach(text)
            return True

        apsw.connection_hooks.append(lambda connection: connection.set_exec_trace(trace))
        self._before(psycopg.Cursor, "execute", lambda cursor, text, *rest, **options: named(text))
        self._before(psycopg.Connection, "commit", lambda connection: COMMIT)
        self._before(Future, "set_result", lambda future, result: ANSWER)
        self._before_each_row()

    def _before(self, owner: Any, name: str, point: Callable[..., str]) -> None:
        original = getattr(owner, name)

        @wraps(original)
        def wrapped(*args: Any, **kw: Any) -> Any:
            self.reach(point(*args, **kw))
            return original(*args, **kw)

        setattr(owner, name, wrapped)

    def _before_each_row(self) -> None:
        original: Any = psycopg.Cursor.executemany

        def one_by_one(cursor: Any, text: Any, rows: list[Any], *, returning: bool = False) -> None:
            for batch in [rows] if returning else [[row] for row in rows]:
                self.reach(str(text))
                original(cursor, text, batch, returning=returning)

        setattr(psycopg.Cursor, "executemany", one_by_one)  # noqa: B010


def named(text: object) -> str:
    """A statement for PostgreSQL. The last text of a transaction may have others ahead of its COMMIT."""
    said = text.decode() if isinstance(text, bytes) else str(text)
    return COMMIT if said.endswith(COMMIT) else said


def act(order: Order, said: int) -> None:
    """What the forked process does."""
    trap = Trap(order, said)
    trap.lay()
    numbers = count(1)
    engine = open_engine(order, lambda: f"id-{next(numbers):03}")
    engine.query(list_queues)
    trap.is_armed = True
    SCENARIOS[order.scenario].act(engine, order.runs)


def open_engine(order: Order, ids: Callable[[], str]) -> Engine:
    """Processes die here, not the machine: no need to wait for the disk."""
    if "://" in order.target:
        return PostgresEngine(order.target, schema=order.schema, durability="normal", now=lambda: NOW, ids=ids)
    return SqliteEngine(order.target, durability="normal", now=lambda: NOW, ids=ids)


def obey(order: Order) -> Died:
    """Fork, and say where the child died."""
    heard, said = os.pipe()
    child = os.fork()
    if not child:
        try:
            act(order, said)
        finally:
            # Neither threads nor connections are taken leave of; a child that failed says so on standard error.
            error = sys.exc_info()[1]
            if error is not None:
                sys.excepthook(type(error), error, error.__traceback__)
            os._exit(error is not None)
    os.close(said)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    point = os.read(heard, 10_000).decode() or None
    os.close(heard)
    return Died(point, code)


def main() -> None:
    for line in sys.stdin:
        order = msgspec.json.decode(line, type=Order)
        print(msgspec.json.encode(obey(order)).decode(), flush=True)


if __name__ == "__main__":
    main()
