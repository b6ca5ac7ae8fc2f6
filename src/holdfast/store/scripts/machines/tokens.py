"""The tokens of each machine: how many it has, who has set that, and how many its runs use."""

from __future__ import annotations

from msgspec import Struct

from holdfast.core.errors import InvalidInput, NotFound
from holdfast.core.job import Millis
from holdfast.core.messages.machines import NodeTokens, TokenSetting
from holdfast.core.rules import limits
from holdfast.core.rules.tokens import Tokens
from holdfast.core.settings import rule_table
from holdfast.store.engine import Tx
from holdfast.store.scripts.telling.wake_ups import wake_held_back, wake_token_queues
from holdfast.store.statements import sql


class StoredTokens(Struct, frozen=True):
    """A row of `node_tokens`."""

    cpu: int
    gpu: int
    io: int
    timeout_ms: Millis
    set_by: str
    set_at: Millis


class ListedTokens(StoredTokens, frozen=True):
    """A row of `list_node_tokens`."""

    node: str
    node_id: str
    used_cpu: int
    used_gpu: int
    used_io: int
    runs: int


def list_tokens(tx: Tx) -> list[NodeTokens]:
    """Every machine that runs jobs, the tokens it has, and those in use."""
    return [
        NodeTokens(
            node=row.node,
            node_id=row.node_id,
            capacity=Tokens(row.cpu, row.gpu, row.io),
            in_use=Tokens(row.used_cpu, row.used_gpu, row.used_io),
            runs=row.runs,
            timeout_ms=row.timeout_ms,
            set_by=row.set_by,
            set_at=row.set_at,
        )
        for row in tx.all(sql.list_node_tokens, ListedTokens)
    ]


def set_tokens(
    tx: Tx,
    now: Millis,
    node: str | None = None,
    cpu: int | None = None,
    gpu: int | None = None,
    io: int | None = None,
    timeout_ms: Millis | None = None,
) -> NodeTokens:
    """Set the tokens of a machine. What is left out stays. If there is one machine, it need not be named."""
    machines = list_tokens(tx)
    if node is None and len(machines) == 1:
        node = machines[0].node
    known = ", ".join(machine.node for machine in machines) or "none"
    if node is None:
        raise InvalidInput(f"which machine is meant is not clear; name one of: {known}")
    before = next((machine for machine in machines if node in (machine.node, machine.node_id)), None)
    if before is None:
        raise NotFound(f"there is no machine {limits.shown(node)} that runs jobs; known are: {known}")
    counts = {"cpu": cpu, "gpu": gpu, "io": io}
    for kind, count in counts.items():
        if count is not None:
            rule_table.check(kind, count)
    has = {kind: getattr(before.capacity, kind) if count is None else count for kind, count in counts.items()}
    wait = before.timeout_ms if timeout_ms is None else rule_table.check("set_tokens.timeout_ms", timeout_ms, "timeout")
    _put(tx, before.node_id, TokenSetting(tokens=Tokens(**has), timeout_ms=wait), "hand", now)
    return next(machine for machine in list_tokens(tx) if machine.node_id == before.node_id)


def note_tokens(tx: Tx, node: str, setting: TokenSetting, is_daemon: bool, now: Millis) -> None:
    """Store the tokens that a new session says its machine has. What was set by hand, or in settings, stays."""
    before = tx.one(sql.tokens_of_node, StoredTokens, node=node)
    # The settings of a daemon hold until a daemon says otherwise.
    decided = ("hand",) if is_daemon else ("hand", "settings")
    is_default = setting.is_default or not is_daemon
    if before is not None and is_default and before.set_by in decided:
        return
    # A program that may use few cores itself does not take them from sessions that are there.
    if before is not None and not is_daemon and tx.value(sql.any_session_on_node, node=node) is not None:
        return
    _put(tx, node, setting, "default" if is_default else "settings", now)


def _put(tx: Tx, node: str, setting: TokenSetting, set_by: str, now: Millis) -> None:
    before = tx.one(sql.tokens_of_node, StoredTokens, node=node)
    new, wait = setting.tokens, setting.timeout_ms
    same = (new.cpu, new.gpu, new.io, wait, set_by)
    if before is not None and (before.cpu, before.gpu, before.io, before.timeout_ms, before.set_by) == same:
        return
    newest: Millis | None = tx.value(sql.newest_token_start, node=node)
    tx.run(
        sql.put_node_tokens,
        node=node,
        cpu=new.cpu,
        gpu=new.gpu,
        io=new.io,
        timeout_ms=wait,
        set_by=set_by,
        now=now if newest is None else max(now, newest + 1),
    )
    wake_token_queues(tx)
    wake_held_back(tx)
