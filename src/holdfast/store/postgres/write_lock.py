"""The lock that every write takes first, and who holds it.

It is an advisory lock, so any user of the database can take it, without any right on the schema. A write waits for it
for a bounded time. Then the holder is looked up, to be named to people.
"""

from __future__ import annotations

import zlib
from typing import Any, NamedTuple

import psycopg
from psycopg import errors as pg
from psycopg import sql as compose

from holdfast.core.rules import limits
from holdfast.store.postgres.pool import PgConnection, send

WAIT_S = 5.0
LOCK_SPACE = 0x486F6C64  # "Hold": apart from advisory locks of the user's own
MOST_NAMED = 3

# The timeout is for the lock alone: what a script waits for later has the usual one.
_BEGIN = compose.SQL(
    "BEGIN; SET LOCAL lock_timeout TO {}; SELECT pg_advisory_xact_lock({}, CAST({} AS INT)); "
    "SET LOCAL lock_timeout TO DEFAULT"
)
# Every user may see pids and users. The rest is shown to members of the holder's role and of pg_read_all_stats only;
# to others it is NULL, also the port, which is -1 for a connection by a unix socket.
_HOLDERS = """
SELECT lock.pid, activity.usename, host(activity.client_addr), activity.client_port,
       clock_timestamp() - activity.query_start < make_interval(secs => %s),
       activity.state = 'active' AND activity.usename = current_user
FROM pg_locks AS lock LEFT JOIN pg_stat_activity AS activity ON activity.pid = lock.pid
WHERE lock.locktype = 'advisory' AND lock.granted AND lock.objsubid = 2
  AND lock.classid = CAST(%s AS BIGINT)::oid AND lock.objid = CAST(%s AS BIGINT)::oid
  AND lock.database = (SELECT oid FROM pg_database WHERE datname = current_database())
ORDER BY lock.pid
"""


class Holder(NamedTuple):
    """A connection that holds the lock.

    `has_begun`: a statement, in the time that we waited. `is_our_work`: it runs one, as our own user.
    """

    pid: int | None
    user: str | None
    address: str | None
    port: int | None
    has_begun: bool | None
    is_our_work: bool | None

    def __str__(self) -> str:
        if self.pid is None:
            return "a prepared transaction"
        user = "an unknown user" if self.user is None else f"user {limits.shown(self.user)}"
        return f"server process {self.pid} of {user} on {self._machine}"

    @property
    def _machine(self) -> str:
        if self.address is not None:
            return self.address
        return "an unknown machine" if self.port is None else "the server's own machine"


class AdvisoryLockHeld(Exception):
    """The lock was not granted in time. `says` names the holders.

    `is_stuck`: one does nothing, for all we see. `is_our_work`: all are at work as our own user.
    """

    def __init__(self, where: str, holders: list[Holder]) -> None:
        named = [str(holder) for holder in holders[:MOST_NAMED]]
        if len(holders) > MOST_NAMED:
            named.append(f"{len(holders) - MOST_NAMED} more")
        who = f"{named[0]} holds" if len(named) == 1 else f"{' and '.join(named) or 'others'} hold"
        self.says = f"{who} the lock that every write to {where} takes"
        self.is_stuck = not all(holder.has_begun or holder.is_our_work for holder in holders)
        self.is_our_work = all(holder.is_our_work for holder in holders)
        super().__init__(self.says)


def key_of(schema: str) -> int:
    """The number of the lock of a schema, in our space of locks."""
    return zlib.crc32(schema.encode()) - 2**31


class AdvisoryLock:
    """The lock of one schema. `where` names the schema in messages."""

    def __init__(self, schema: str, where: str, wait_s: float = WAIT_S) -> None:
        self._key = key_of(schema)
        self._where = where
        self._wait_s = wait_s
        self._begin = _BEGIN.format(round(wait_s * 1000), LOCK_SPACE, self._key).as_bytes()

    def begin(self, connection: PgConnection) -> None:
        """Begin a transaction, and take the lock, in one round trip. AdvisoryLockHeld: it was not granted in time."""
        try:
            send(connection, self._begin)
        except (pg.LockNotAvailable, pg.QueryCanceled) as error:
            # The second one: the user of the connection has a `statement_timeout` that is shorter.
            connection.rollback()
            raise AdvisoryLockHeld(self._where, self._holders(connection)) from error

    def _holders(self, connection: psycopg.Connection[Any]) -> list[Holder]:
        rows = connection.execute(_HOLDERS, (self._wait_s, LOCK_SPACE, self._key % 2**32)).fetchall()
        return [Holder(*row) for row in rows]
