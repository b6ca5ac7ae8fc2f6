"""Hears what other processes have committed: LISTEN on a connection of its own, in a thread of its own."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

import msgspec
import psycopg

from holdfast.decoding import decode
from holdfast.store.engine import Changes

log = logging.getLogger("holdfast.store")

MAX_NOTICE = 7_900
POLL_S = 0.5
RECONNECT_S = (0.1, 0.5, 1.0, 2.0, 5.0)


class Notice(msgspec.Struct, frozen=True, omit_defaults=True):
    """Changes as they are sent. By `sender`, a process leaves out its own.

    `ready` names all queues in which a job may start. For those in which only new jobs may, `new` has their tasks.
    """

    sender: str
    ready: list[str] = []
    ended: list[str] = []
    due: bool = False
    stops: bool = False
    unknown: bool = False
    files: bool = False
    new: dict[str, list[str]] = {}

    def changes(self) -> Changes:
        """What it tells."""
        changes = Changes(
            set(self.ready).difference(self.new),
            set(self.ended),
            self.due,
            self.stops,
            self.unknown,
            files=self.files,
            new={queue: set(tasks) for queue, tasks in self.new.items()},
        )
        # Neither a request for a file nor a new job is a reason to look at everything.
        changes.foreign = changes.concerns_more_than_new_jobs
        return changes


def pack(changes: Changes, sender: str) -> str:
    """The payload of a NOTIFY. Changes that do not fit are sent as `unknown`."""
    notice = Notice(
        sender,
        sorted(changes.queues),
        sorted(changes.ended),
        changes.due,
        changes.stops,
        changes.unknown,
        changes.files,
        {queue: sorted(tasks) for queue, tasks in changes.new.items() if queue not in changes.ready},
    )
    text = msgspec.json.encode(notice)
    if len(text) > MAX_NOTICE:
        text = msgspec.json.encode(Notice(sender, unknown=True, files=changes.files))
    return text.decode()


def unpack(payload: str) -> Notice:
    """The contents of a NOTIFY. Any program may send one, so what cannot be read counts as `unknown`."""
    try:
        return decode(payload, Notice)
    except msgspec.MsgspecError:
        return Notice("", unknown=True)


class ListenerThread:
    """Listens and reconnects until `close`. After each connect, listeners are told that anything may have changed."""

    def __init__(
        self,
        connect: Callable[[], psycopg.Connection[object]],
        channel: str,
        me: str,
        heard: Callable[[Changes], None],
    ) -> None:
        self._connect = connect
        self._channel = channel
        self._me = me
        self._heard = heard
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
            try:
                with self._connect() as connection:
                    connection.execute(f'LISTEN "{self._channel}"')
                    failures = 0
                    self._heard(Changes(unknown=True))
                    self._follow(connection)
            except psycopg.Error as error:
                log.warning("lost the notifications of %s: %s", self._channel, error)
                pause = RECONNECT_S[min(failures, len(RECONNECT_S) - 1)]
                failures += 1
                self._stopping.wait(pause)

    def _follow(self, connection: psycopg.Connection[object]) -> None:
        while not self._stopping.is_set():
            for heard in connection.notifies(timeout=POLL_S, stop_after=1):
                notice = unpack(heard.payload)
                if notice.sender != self._me:
                    self._heard(notice.changes())
