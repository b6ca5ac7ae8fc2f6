"""What an engine is: it runs transaction scripts. A script is a plain function `(tx, *args)` that reads, asks
core and writes; it changes rows and nothing else, so that a transaction can always be thrown away.
"""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from functools import cached_property
from itertools import starmap
from operator import itemgetter
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, Protocol, TypeAlias, TypeVar

import uuid_utils
from msgspec import Struct

from holdfast.store.statements import Dialect, Statement
from holdfast.store.tally import Tally, Watcher
from holdfast.store.trouble import Troubles

T = TypeVar("T")
P = ParamSpec("P")

Ids: TypeAlias = Callable[[], str]
Row: TypeAlias = tuple[Any, ...]

log = logging.getLogger("holdfast.store")


class Changes(Struct):
    """What a commit changed, told to whoever waits for it.

    `foreign`: another process did it. `unknown`: another process did something; look for yourself. `watches`: rules for
    the planner of this very process. `files`: somebody asks for a file of another machine, or has answered.
    """

    ready: set[str] = set()
    ended: set[str] = set()
    due: bool = False
    stops: bool = False
    unknown: bool = False
    foreign: bool = False
    watches: bool = False
    files: bool = False

    def merge(self, other: Changes) -> None:
        """Add what another commit changed."""
        self.ready |= other.ready
        self.ended |= other.ended
        self.due |= other.due
        self.stops |= other.stops
        self.unknown |= other.unknown
        self.foreign |= other.foreign
        self.watches |= other.watches
        self.files |= other.files

    def __bool__(self) -> bool:
        return self.concerns_jobs or self.watches or self.files

    @property
    def concerns_jobs(self) -> bool:
        """Whether it may matter to anybody who runs jobs or waits for some."""
        return bool(self.ready or self.ended or self.due or self.stops or self.unknown)


Listener: TypeAlias = Callable[[Changes], None]


def announce(changes: Changes, listeners: Iterable[Listener]) -> None:
    """Tell every listener. What one of them raises is its own affair: the commit stands, and the others are told."""
    for listener in list(listeners):
        try:
            listener(changes)
        except Exception:
            log.exception("a listener failed")


class Tx(Protocol):
    """An open transaction, as a script sees it."""

    changes: Changes
    tally: Tally
    dialect: Dialect

    def run(self, statement: Statement, /, **params: object) -> int:
        """Execute; how many rows changed."""

    def run_many(self, statement: Statement, rows: Iterable[Mapping[str, object]], /) -> None:
        """Execute once for each set of parameters."""

    def rows_many(self, statement: Statement, rows: Iterable[Mapping[str, object]], /) -> list[tuple[Any, ...]]:
        """Execute once for each set of parameters; every row that comes back."""

    def all(self, statement: Statement, into: Callable[..., T], /, **params: object) -> list[T]:
        """Every row, as `into` (a struct; columns are matched by name)."""

    def one(self, statement: Statement, into: Callable[..., T], /, **params: object) -> T | None:
        """The first row, or None."""

    def value(self, statement: Statement, /, **params: object) -> Any:
        """The first column of the first row, or None."""

    def rows(self, statement: Statement, /, **params: object) -> list[dict[str, Any]]:
        """Every row as a dictionary, for reports."""

    def new_id(self) -> str:
        """A fresh UUIDv7."""

    def here(self) -> str:
        """The id of the machine that this process is on."""


class Engine(Protocol):
    """A database that scripts run on. `write` is durable when it returns."""

    dialect: Dialect

    @property
    def troubles(self) -> Troubles:
        """What keeps this process from writing, if anything does, and what has gone wrong so far."""

    @property
    def node(self) -> str:
        """The id of the machine that this process is on, as this database knows it."""

    @property
    def locks(self) -> Path:
        """The folder on this machine where processes that share the database hold their locks."""

    @property
    def files(self) -> Path:
        """The folder on this machine for what runs leave behind: logs and artifacts, a folder for each job."""

    def open(self) -> None:
        """Open the database now instead of at the first call."""

    def submit(self, script: Callable[Concatenate[Tx, P], T], *args: P.args, **kw: P.kwargs) -> Future[T]:
        """Run a writing script; the future resolves after its commit. For callers without an event loop."""

    def run(self, script: Callable[Concatenate[Tx, P], T], *args: P.args, **kw: P.kwargs) -> T:
        """Run a writing script, blocking the calling thread until it is durable."""

    def query(self, script: Callable[Concatenate[Tx, P], T], *args: P.args, **kw: P.kwargs) -> T:
        """Run a reading script on a snapshot, in the calling thread."""

    async def write(self, script: Callable[Concatenate[Tx, P], T], *args: P.args, **kw: P.kwargs) -> T:
        """Run a writing script; durable when it returns."""

    async def read(self, script: Callable[Concatenate[Tx, P], T], *args: P.args, **kw: P.kwargs) -> T:
        """Run a reading script on a snapshot."""

    def ask(self, procedure: Callable[Concatenate[Engine, P], T], *args: P.args, **kw: P.kwargs) -> T:
        """Run a function of an engine where the database is, in the calling thread."""

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Call `listener` after every commit that changed something, here or elsewhere; returns the way out."""

    def watch(self, watcher: Watcher) -> None:
        """Call `watcher` after every commit of this process; there is one at most."""

    def check(self) -> list[str]:
        """What the database itself says about its integrity; empty if all is well."""

    def close(self) -> None:
        """Finish what is under way and let go of the database."""


_urgent: set[Callable[..., Any]] = set()


def urgent(script: Callable[P, T]) -> Callable[P, T]:
    """Mark a script that must not wait behind the calls of users: others take a session for dead that is silent."""
    _urgent.add(script)
    return script


def is_urgent(script: Callable[..., Any]) -> bool:
    """Whether the script is marked as urgent."""
    return script in _urgent


class AwaitableCalls(ABC):
    """`run`, `ask`, `write` and `read` on top of `submit` and `query`, and who watches, for every engine."""

    _watcher: Watcher | None = None

    @cached_property
    def troubles(self) -> Troubles:
        return Troubles()

    def _forget_troubles(self) -> None:
        """In a forked child: those were the parent's."""
        self.__dict__.pop("troubles", None)

    def watch(self, watcher: Watcher) -> None:
        self._watcher = watcher

    def _committed(self, seconds: float, tally: Tally) -> None:
        for line in tally.lines:
            logger = logging.getLogger(f"holdfast.{line.part}")
            logger.log(line.level, line.message, extra={"event": line.event, **line.about})
        if self._watcher is not None:
            try:
                self._watcher(seconds, tally)
            except Exception:
                log.exception("a watcher failed")

    @property
    @abstractmethod
    def is_open(self) -> bool:
        """Whether a call can go ahead at once."""

    @abstractmethod
    def open(self) -> None:
        """Open the database now instead of at the first call."""

    def run(self, script: Callable[..., T], *args: Any, **kw: Any) -> T:
        return self.submit(script, *args, **kw).result()  # type: ignore[attr-defined, no-any-return]

    def ask(self, procedure: Callable[..., T], *args: Any, **kw: Any) -> T:
        return procedure(self, *args, **kw)

    async def write(self, script: Callable[..., T], *args: Any, **kw: Any) -> T:
        # Imported where it is needed: programs without an event loop, such as the command line, need not wait for it.
        import asyncio

        if not self.is_open:
            # Opening can take long, and must not stop the caller's event loop.
            await asyncio.to_thread(self.open)
        return await asyncio.wrap_future(self.submit(script, *args, **kw))  # type: ignore[attr-defined]

    async def read(self, script: Callable[..., T], *args: Any, **kw: Any) -> T:
        import asyncio

        return await asyncio.to_thread(self.query, script, *args, **kw)  # type: ignore[attr-defined]


def new_uuid() -> str:
    """The default source of ids."""
    return str(uuid_utils.uuid7())


class RowShapes:
    """Turns rows into structs by column name; the mapping of a statement is worked out once."""

    def __init__(self) -> None:
        self._getters: dict[tuple[str, Callable[..., Any]], Callable[[Row], Row]] = {}

    def knows(self, statement: Statement, into: Callable[..., Any]) -> bool:
        """Whether the columns need not be named again."""
        return (statement.name, into) in self._getters

    def build(self, statement: Statement, into: Callable[..., T], columns: Sequence[str], rows: list[Row]) -> list[T]:
        """The rows of `statement`, each as `into`."""
        if not rows:
            return []
        key = (statement.name, into)
        getter = self._getters.get(key)
        if getter is None:
            getter = self._getters[key] = _getter(statement, into, columns)
        return list(starmap(into, map(getter, rows)))


def _getter(statement: Statement, into: Callable[..., T], columns: Sequence[str]) -> Callable[[Row], Row]:
    fields: tuple[str, ...] = getattr(into, "__struct_fields__", tuple(columns))
    missing = [field for field in fields if field not in columns]
    if missing:
        raise TypeError(f"statement {statement.name} lacks the columns {missing} of {into!r}")
    places = [columns.index(field) for field in fields]
    if len(places) == 1:
        return lambda row: (row[places[0]],)
    return itemgetter(*places)


SHAPES = RowShapes()
