"""The machine of a session: its open lanes, and its free tokens."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from holdfast.core.job import Millis, SessionId
from holdfast.core.jobs import order
from holdfast.core.jobs.order import PLAIN
from holdfast.core.rules.tokens import NO_TOKENS, Tokens
from holdfast.store.engine import Tx
from holdfast.store.statements import sql


class SessionMachineRow(Struct, frozen=True, gc=False):
    """A row of `claimer`."""

    node: str
    number: int
    is_idle: int
    is_charging: int
    cpu: int
    gpu: int
    io: int
    timeout_ms: Millis


class TokensInUseRow(Struct, frozen=True, gc=False):
    """A row of `tokens_in_use`."""

    is_own: int
    cpu: int
    gpu: int
    io: int


class SessionMachine(Struct, frozen=True):
    """The machine of a session. `has_ties`: some ready jobs may run on this machine alone.

    `own` are the tokens that the session uses, `others` those that other sessions use. Without a `node` no ready job
    asks for anything of a machine, so nothing was read about it.
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
        """The tokens that all runs on the machine use."""
        return self.own.plus(self.others)

    @property
    def free(self) -> Tokens:
        """The tokens that no run uses."""
        return self.capacity.less(self.in_use)

    def lanes_of(self, tx: Tx, queue: str) -> tuple[int, ...]:
        """The lanes of a queue that may have a job for this machine, the plain one first."""
        if not self.node:
            return (PLAIN, order.lane_of_node(self.number)) if self.has_ties else (PLAIN,)
        lanes = [row["lane"] for row in tx.rows(sql.lanes_of_queue, queue=queue, node=self.number)]
        open_lanes = self.machine_lanes | self.free.lanes
        return (PLAIN, *(lane for lane in lanes if order.is_worth_looking(lane, open_lanes)))


def machine_of_claim(tx: Tx, session_id: SessionId, number: int, has_ties: bool) -> SessionMachine:
    """The machine of a session. It is read only while a ready job asks for something of a machine."""
    if not tx.value(sql.any_gated):
        return SessionMachine(number=number, has_ties=has_ties)
    return machine_of_session(tx, session_id)


def machine_of_session(tx: Tx, session_id: SessionId) -> SessionMachine:
    """The machine of a session, and the tokens that are in use there."""
    row = tx.one(sql.claimer, SessionMachineRow, session_id=session_id)
    if row is None:
        return SessionMachine()
    used = tx.all(sql.tokens_in_use, TokensInUseRow, node=row.node, session_id=session_id)
    return SessionMachine(
        node=row.node,
        number=row.number,
        machine_lanes=order.lanes_open(bool(row.is_idle), bool(row.is_charging)),
        capacity=Tokens(row.cpu, row.gpu, row.io),
        own=_sum(item for item in used if item.is_own),
        others=_sum(item for item in used if not item.is_own),
        timeout_ms=row.timeout_ms,
    )


def _sum(rows: Iterable[TokensInUseRow]) -> Tokens:
    found = NO_TOKENS
    for row in rows:
        found = found.plus(Tokens(row.cpu, row.gpu, row.io))
    return found
