"""What a commit can be about, besides the jobs and queues that it names."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec import Struct


class Topic:
    """One thing that a commit can be about. Whom it concerns, and how far it is told, stands here alone.

    `concerns_jobs`: it may matter to a caller that runs jobs or waits for some. `for_workers`: to a worker of any task.
    `for_apps`: to a process that calls the handlers of apps. `for_workspaces`: to one that looks after workspaces.
    `by_notify`: other processes on a database server are told. `by_stream`: readers of `/v1/changes` are told, even if
    the commit is about nothing else.
    """

    __slots__ = ("by_notify", "by_stream", "concerns_jobs", "for_apps", "for_workers", "for_workspaces", "name")

    def __init__(
        self,
        name: str,
        *,
        concerns_jobs: bool = False,
        for_workers: bool = False,
        for_apps: bool = False,
        for_workspaces: bool = False,
        by_notify: bool = False,
        by_stream: bool = False,
    ) -> None:
        self.name = name
        self.concerns_jobs = concerns_jobs
        self.for_workers = for_workers
        self.for_apps = for_apps
        self.for_workspaces = for_workspaces
        self.by_notify = by_notify
        self.by_stream = by_stream

    @property
    def for_parts(self) -> bool:
        """Whether it is told to workers of any task, as one of their parts may want to hear it."""
        return self.for_workers or self.for_apps or self.for_workspaces

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Topic) and other.name == self.name

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        return self.name.upper()


# Something becomes due, at a time that may be earlier than all others.
DUE = Topic("due", concerns_jobs=True, by_notify=True, by_stream=True)
# A run is to stop.
STOPS = Topic("stops", concerns_jobs=True, for_workers=True, by_notify=True, by_stream=True)
# Another process changed something, and anything may be different.
UNKNOWN = Topic(
    "unknown",
    concerns_jobs=True,
    for_workers=True,
    for_apps=True,
    for_workspaces=True,
    by_notify=True,
    by_stream=True,
)
# Another process did more than to add jobs. Whoever hears it finds that out by itself.
FOREIGN = Topic("foreign", for_workers=True)
# The watches for the planner of this process.
WATCHES = Topic("watches", by_stream=True)
# A file of another machine was asked for, or sent.
FILES = Topic("files", by_notify=True)
# An event came that an app listens to, or an app changed.
APPS = Topic("apps", for_apps=True, by_notify=True, by_stream=True)
# A workspace changed, or the job of its operation has ended.
WORKSPACES = Topic("workspaces", for_workspaces=True, by_notify=True, by_stream=True)

TOPICS = {topic.name: topic for topic in (DUE, STOPS, UNKNOWN, FOREIGN, WATCHES, FILES, APPS, WORKSPACES)}


class TopicFlags(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Topics, as programs of several versions tell each other of them: six flags, and the names of all other topics.

    The flags are those of 0.5. A program passes over the names that it does not know.
    """

    due: bool = False
    stops: bool = False
    unknown: bool = False
    foreign: bool = False
    watches: bool = False
    files: bool = False
    topics: tuple[str, ...] = ()

    def known(self) -> set[Topic]:
        """The topics that this program knows."""
        told = {name for name in FLAGS if getattr(self, name)}.union(self.topics)
        return {topic for name, topic in TOPICS.items() if name in told}


FLAGS = frozenset(TopicFlags.__struct_fields__) - {"topics"}


def flags(topics: Iterable[Topic]) -> dict[str, Any]:
    """The fields of `TopicFlags` that tell of these topics."""
    names = {topic.name for topic in topics}
    return dict.fromkeys(names & FLAGS, True) | {"topics": tuple(sorted(names - FLAGS))}
