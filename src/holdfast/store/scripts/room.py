"""What the machine of a session is and has: which lanes are open on it, and how many tokens are free there."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from holdfast.core.job import Millis, SessionId
from holdfast.core.order import PLAIN, is_worth_looking, lane_of_node, lanes_open
from holdfast.core.tokens import NO_TOKENS, Tokens
from holdfast.store.engine import Tx
from holdfast.store.statements import sql


class ClaimerRow(Struct, frozen=True, gc=False):
    """A row of `claimer`."""

    node: str
    number: int
    is_idle: int
    is_charging: int
    cpu: int
    gpu: int
    io: int
    timeout_ms: Millis


class InUse(Struct, frozen=True, gc=False):
    """A row of `tokens_in_use`."""

    is_own: int
    cpu: int
    gpu: int
    io: int


class Claimer(Struct, frozen=True):
    """The machine of a session: what jobs may wait for that it is, and its tokens.

    `own` are those that the session itself uses, `others` those of all others on the machine. Without a `node` nobody
    asks what it is and has; `has_ties`: some of the ready jobs are tied to it.
    """

    node: str = ""
    number: int = 0
    has_ties: bool = False
    machine_lanes: int = PLAIN
    capacity: Tokens = NO_TOKENS
    own: Tokens = NO_TOKENS
    others: Tokens = NO_TOKENS
    timeout_ms: Millis = 0

    @property
    def in_use(self) -> Tokens:
        """What all runs on the machine use."""
        return self.own.plus(self.others)

    @property
    def free(self) -> Tokens:
        """What may be taken now."""
        return self.capacity.less(self.in_use)

    def lanes_of(self, tx: Tx, queue: str) -> tuple[int, ...]:
        """The lanes of a queue that are worth a look, the plain one first."""
        if not self.node:
            return (PLAIN, lane_of_node(self.number)) if self.has_ties else (PLAIN,)
        lanes = [row["lane"] for row in tx.rows(sql.lanes_of_queue, queue=queue, node=self.number)]
        open_lanes = self.machine_lanes | self.free.lanes
        return (PLAIN, *(lane for lane in lanes if is_worth_looking(lane, open_lanes)))


def look_around(tx: Tx, session_id: SessionId, number: int, has_ties: bool) -> Claimer:
    """The machine of a session. Nobody asks what it is while no job waits for that: then it is not looked at."""
    return claimer(tx, session_id) if tx.value(sql.any_gated) else Claimer(number=number, has_ties=has_ties)


def claimer(tx: Tx, session_id: SessionId) -> Claimer:
    """The machine of a session, and what is in use there."""
    row = tx.one(sql.claimer, ClaimerRow, session_id=session_id)
    if row is None:
        return Claimer()
    used = tx.all(sql.tokens_in_use, InUse, node=row.node, session_id=session_id)
    return Claimer(
        node=row.node,
        number=row.number,
        machine_lanes=lanes_open(bool(row.is_idle), bool(row.is_charging)),
        capacity=Tokens(row.cpu, row.gpu, row.io),
        own=_sum(item for item in used if item.is_own),
        others=_sum(item for item in used if not item.is_own),
        timeout_ms=row.timeout_ms,
    )


def _sum(rows: Iterable[InUse]) -> Tokens:
    found = NO_TOKENS
    for row in rows:
        found = found.plus(Tokens(row.cpu, row.gpu, row.io))
    return found
