"""What an engine is: it runs transaction scripts.

A script is a plain function `(tx, *args)` that reads, asks core and writes. It changes rows and nothing else, so that a
transaction can always be thrown away.
"""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from concurrent.futures import Future
from itertools import starmap
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol, TypeAlias, TypeVar

import uuid_utils
from msgspec import Struct, structs

from holdfast.core.computed_once import computed_once
from holdfast.store.notifications import Notifications
from holdfast.store.script_names import function_of
from holdfast.store.statements import Dialect, Statement
from holdfast.store.tally import Tally, Watcher
from holdfast.store.topics import FOREIGN, Topic
from holdfast.store.trouble import Troubles

if TYPE_CHECKING:
    from holdfast.store.maintenance import DatabaseMaintenance

T = TypeVar("T")
P = ParamSpec("P")

Ids: TypeAlias = Callable[[], str]
Row: TypeAlias = tuple[Any, ...]

log = logging.getLogger("holdfast.store")


class Changes(Struct):
    """What a commit changed, for the listeners.

    `ready`: queues in which any job may start now. `new`: queues in which only new jobs may, with the tasks of these.
    `topics`: what else it is about.
    """

    ready: set[str] = set()
    ended: set[str] = set()
    topics: set[Topic] = set()
    new: dict[str, set[str]] = {}

    def add_new(self, queue: str, task: str) -> None:
        """A job of this task is new in the queue, and may start."""
        self.new.setdefault(queue, set()).add(task)

    def merge(self, other: Changes) -> None:
        """Add what another commit changed."""
        self.ready |= other.ready
        for queue, tasks in other.new.items():
            self.new.setdefault(queue, set()).update(tasks)
        self.ended |= other.ended
        self.topics |= other.topics

    def __bool__(self) -> bool:
        # That it was another process is no news by itself.
        return bool(self.ready or self.new or self.ended or self.topics - {FOREIGN})

    @property
    def concerns_jobs(self) -> bool:
        """Whether it may matter to a caller that runs jobs or waits for some."""
        return bool(self.new) or self.concerns_more_than_new_jobs

    @property
    def concerns_more_than_new_jobs(self) -> bool:
        """Whether it may matter to a caller that can run none of the new jobs."""
        return bool(self.ready or self.ended) or any(topic.concerns_jobs for topic in self.topics)

    @property
    def queues(self) -> set[str]:
        """All queues in which a job may start now."""
        return self.ready.union(self.new)

    def for_all(self) -> Changes:
        """As it is told to those who run any task: the queues of new jobs are `ready` too."""
        return structs.replace(self, ready=self.queues, new={})

    def for_tasks(self, tasks: Set[str]) -> Changes:
        """As it is told to a worker of these tasks. What concerns neither its runs nor its apps is left out."""
        served = {queue for queue, new in self.new.items() if not tasks.isdisjoint(new)}
        topics = {topic for topic in self.topics if topic.for_parts}
        return Changes(self.ready | served, topics=topics)


Listener: TypeAlias = Callable[[Changes], None]


def announce(changes: Changes, listeners: Iterable[Listener]) -> None:
    """Tell every listener. If one raises, the others are told all the same, as the commit stands."""
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
        """Execute, and return how many rows changed."""

    def run_many(self, statement: Statement, rows: Iterable[Mapping[str, object]], /) -> None:
        """Execute once for each set of parameters."""

    def rows_many(self, statement: Statement, rows: Iterable[Mapping[str, object]], /) -> list[tuple[Any, ...]]:
        """Execute once for each set of parameters, and return all rows."""

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


class DaemonLink(Protocol):
    """What an engine knows of the daemon that runs its scripts."""

    @property
    def lease(self) -> float:
        """How many seconds a worker of this daemon may be silent."""

    @property
    def stuck(self) -> float:
        """How many seconds a run may take no notice of being asked to stop."""

    @property
    def home(self) -> Path | None:
        """The home folder of the daemon, if it is on this machine."""

    @property
    def is_gone(self) -> bool:
        """Whether it is certain that no daemon runs there now."""

    def give_up(self) -> None:
        """Wait for the daemon no longer. Calls that do not reach it fail at once, until `open` finds it."""

    def open_line(self, listener: Listener, tasks: Collection[str]) -> Callable[[], None]:
        """Send the calls of this event loop on the loop itself from now on.

        Tell `listener` there of changes that may concern a worker of these tasks.
        """


class Engine(Protocol):
    """A database that scripts run on. `write` is durable when it returns."""

    dialect: Dialect

    @property
    def daemon(self) -> DaemonLink | None:
        """The daemon that runs the scripts; None where this process does."""

    @property
    def is_remote(self) -> bool:
        """Whether a daemon runs the scripts."""

    @property
    def is_shared(self) -> bool:
        """Whether other machines may share the database."""

    @property
    def title(self) -> str:
        """The database as messages name it, without the password of its URL."""

    @property
    def path(self) -> str | None:
        """The file of the database, if this process opens one."""

    @property
    def identity(self) -> str:
        """The same text for all who use this database, whatever user and password they have."""

    def maintenance(self) -> DatabaseMaintenance:
        """The maintenance of the database as a whole. InvalidInput: another process does that."""

    @property
    def troubles(self) -> Troubles:
        """What keeps this process from writing, if anything does, and what has gone wrong so far."""

    @property
    def notifications(self) -> Notifications:
        """What keeps this process from hearing of the commits of others, if anything does."""

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
        """Call `listener` after every commit that changed something, here or elsewhere. Call the result to end that."""

    def watch(self, watcher: Watcher) -> None:
        """Call `watcher` after every commit of this process. There is one at most."""

    def check(self) -> list[str]:
        """What the database itself finds wrong with its integrity. Empty: nothing."""

    def close(self) -> None:
        """Finish what is under way, and close the database."""


_urgent: set[Callable[..., Any]] = set()


def urgent(script: Callable[P, T]) -> Callable[P, T]:
    """Mark a script that must not wait behind the calls of users: a silent session is taken for dead."""
    _urgent.add(script)
    return script


def is_urgent(script: Callable[..., Any]) -> bool:
    """Whether the script is marked as urgent."""
    return function_of(script) in _urgent


class AwaitableCalls(ABC):
    """What engines share: `run`, `ask`, `write` and `read` by `submit` and `query`, and the watcher."""

    _watcher: Watcher | None = None

    @property
    def daemon(self) -> DaemonLink | None:
        return None

    @property
    def path(self) -> str | None:
        return None

    @property
    def is_remote(self) -> bool:
        return self.daemon is not None

    @computed_once
    def troubles(self) -> Troubles:
        return Troubles()

    @computed_once
    def notifications(self) -> Notifications:
        return Notifications()

    def _forget_troubles(self) -> None:
        """In a forked child: forget the troubles of the parent."""
        self.__dict__.pop("troubles", None)
        self.__dict__.pop("notifications", None)

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
        """Whether a call need not open the database first."""

    @abstractmethod
    def open(self) -> None:
        """Open the database now instead of at the first call."""

    def run(self, script: Callable[..., T], *args: Any, **kw: Any) -> T:
        return self.submit(script, *args, **kw).result()  # type: ignore[attr-defined, no-any-return]

    def ask(self, procedure: Callable[..., T], *args: Any, **kw: Any) -> T:
        return procedure(self, *args, **kw)

    async def write(self, script: Callable[..., T], *args: Any, **kw: Any) -> T:
        # Imported late: programs without an event loop, such as the command line, need not load it.
        import asyncio

        if not self.is_open:
            # Opening can take long, and must not block the event loop of the caller.
            await asyncio.to_thread(self.open)
        return await asyncio.wrap_future(self.submit(script, *args, **kw))  # type: ignore[attr-defined]

    async def read(self, script: Callable[..., T], *args: Any, **kw: Any) -> T:
        import asyncio

        return await asyncio.to_thread(self.query, script, *args, **kw)  # type: ignore[attr-defined]


def new_uuid() -> str:
    """The default source of ids."""
    return str(uuid_utils.uuid7())


class RowShapes:
    """Turns rows into structs by the names of columns. Each statement is mapped once."""

    def __init__(self) -> None:
        self._getters: dict[tuple[str, Callable[..., Any]], Callable[[Row], Row]] = {}

    def knows(self, statement: Statement, into: Callable[..., Any]) -> bool:
        """Whether the statement is mapped, so that its columns need not be given."""
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
