"""Hears what other processes have committed: LISTEN on a connection of its own, in a thread of its own."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import msgspec
import psycopg

from holdfast.decoding import decode
from holdfast.store.engine import Changes
from holdfast.store.notifications import Notifications
from holdfast.store.topics import FOREIGN, UNKNOWN, TopicFlags, flags

MAX_NOTICE = 7_900
POLL_S = 0.5
RECONNECT_S = (0.1, 0.5, 1.0, 2.0, 5.0)
CALM_S = 10.0  # A connection that breaks sooner is no reason to begin again with short pauses.
UNREADABLE_EVERY_S = 1.0


class Notice(TopicFlags, frozen=True, kw_only=True):
    """Changes as they are sent. By `sender`, a process leaves out its own.

    `ready` names all queues in which a job may start. For those in which only new jobs may, `new` has their tasks.
    """

    sender: str
    ready: tuple[str, ...] = ()
    ended: tuple[str, ...] = ()
    new: dict[str, list[str]] = msgspec.field(default_factory=dict)

    def changes(self) -> Changes:
        """What it tells."""
        changes = Changes(
            set(self.ready).difference(self.new),
            set(self.ended),
            {topic for topic in self.known() if topic.by_notify},
            {queue: set(tasks) for queue, tasks in self.new.items()},
        )
        # Neither a request for a file nor a new job is a reason to look at everything.
        if changes.concerns_more_than_new_jobs:
            changes.topics.add(FOREIGN)
        return changes


def pack(changes: Changes, sender: str) -> str:
    """The payload of a NOTIFY. Changes that do not fit are sent as `unknown`."""
    topics = {topic for topic in changes.topics if topic.by_notify}
    notice = Notice(
        sender=sender,
        ready=tuple(sorted(changes.queues)),
        ended=tuple(sorted(changes.ended)),
        new={queue: sorted(tasks) for queue, tasks in changes.new.items() if queue not in changes.ready},
        **flags(topics),
    )
    text = msgspec.json.encode(notice)
    if len(text) > MAX_NOTICE:
        beside = {topic for topic in topics if not topic.concerns_jobs}
        text = msgspec.json.encode(Notice(sender=sender, **flags({UNKNOWN, *beside})))
    return text.decode()


UNREADABLE = Notice(sender="", unknown=True)


def unpack(payload: str) -> Notice:
    """The contents of a NOTIFY. Any user of the database may send one, so what cannot be read counts as `unknown`."""
    try:
        return decode(payload, Notice)
    except Exception:
        # Not only errors of msgspec: what is nested too deeply is a RecursionError.
        return UNREADABLE


class ListenerThread:
    """Listens and reconnects until `close`. After each connect, listeners are told that anything may have changed.

    What cannot be read may have been meant for us, so it counts as `unknown`: at most once a second, whatever comes.
    """

    def __init__(
        self,
        connect: Callable[[], psycopg.Connection[object]],
        channel: str,
        me: str,
        heard: Callable[[Changes], None],
        notifications: Notifications,
    ) -> None:
        self._connect = connect
        self._channel = channel
        self._me = me
        self._heard = heard
        self._notifications = notifications
        self._unknown_due: float | None = None
        self._unknown_at = -UNREADABLE_EVERY_S
        self._listens_since: float | None = None
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._work, name="holdfast-listener", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop listening."""
        self._stopping.set()
        self._thread.join()

    def _work(self) -> None:
        failures = 0
        while not self._stopping.is_set():
            self._listens_since = None
            try:
                self._listen()
            except Exception as error:
                # Whatever it is: a thread that ends would leave this process without news for good.
                self._notifications.lose(error)
                if self._listens_since is not None and time.monotonic() - self._listens_since > CALM_S:
                    failures = 0
                pause = RECONNECT_S[min(failures, len(RECONNECT_S) - 1)]
                failures += 1
                self._stopping.wait(pause)

    def _listen(self) -> None:
        with self._connect() as connection:
            connection.execute(f'LISTEN "{self._channel}"')
            self._listens_since = time.monotonic()
            self._notifications.resume()
            self._heard(Changes(topics={UNKNOWN}))
            while not self._stopping.is_set():
                for notification in connection.notifies(timeout=self._pause(), stop_after=1):
                    self._receive(notification)
                self._tell_unknown()

    def _receive(self, notification: psycopg.Notify) -> None:
        notice = unpack(notification.payload)
        if notice is UNREADABLE:
            self._notifications.count_unreadable(self._channel, notification.pid)
            if self._unknown_due is None:
                self._unknown_due = self._unknown_at + UNREADABLE_EVERY_S
            self._tell_unknown()
        elif notice.sender != self._me:
            self._heard(notice.changes())

    def _tell_unknown(self) -> None:
        """Tell of what could not be read, when it is time."""
        if self._unknown_due is not None and time.monotonic() >= self._unknown_due:
            self._unknown_due, self._unknown_at = None, time.monotonic()
            self._heard(UNREADABLE.changes())

    def _pause(self) -> float:
        return POLL_S if self._unknown_due is None else min(POLL_S, max(0.0, self._unknown_due - time.monotonic()))
