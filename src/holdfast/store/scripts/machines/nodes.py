"""The machines that share the database. Each has an id, kept in its home, and a name of its own for people."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count

from holdfast.core.errors import NotFound
from holdfast.core.job import Millis
from holdfast.core.jobs.stored_job import Job
from holdfast.core.messages.machines import KnownNode
from holdfast.core.rules import limits
from holdfast.store.engine import Tx
from holdfast.store.rows import JobRow
from holdfast.store.statements import sql


def note_node(tx: Tx, node_id: str, name: str, now: Millis, *, may_rename: bool = True) -> None:
    """Note that a machine is here. Of two with one host name, the second gets a number after it."""
    known = tx.one(sql.node_by_id, KnownNode, id=node_id)
    if known is None and may_rename and _is_name_alone(tx.one(sql.node_by_id, KnownNode, id=name)):
        # It was here before machines had ids, so all that is stored under its name is its own.
        for statement in (
            sql.adopt_node,
            sql.adopt_sessions,
            sql.adopt_machines,
            sql.adopt_node_tokens,
            sql.adopt_watches,
        ):
            tx.run(statement, id=node_id, name=name)
    elif known is None:
        tx.run(sql.insert_node, id=node_id, name=_free_name(tx, node_id, name), now=now)
        return
    called = _free_name(tx, node_id, name) if known is None or may_rename else known.name
    tx.run(sql.see_node, id=node_id, name=called, now=now)


def find_node(tx: Tx, ref: str) -> KnownNode:
    """The machine with this name or id. NotFound says which there are."""
    found = tx.one(sql.node_by_name, KnownNode, name=ref) or tx.one(sql.node_by_id, KnownNode, id=ref)
    if found is None:
        known = ", ".join(node.name for node in list_nodes(tx)) or "none"
        raise NotFound(f"there is no machine {limits.shown(ref)}; known are: {known}")
    return found


def list_nodes(tx: Tx) -> list[KnownNode]:
    """Every machine that has been here, by name."""
    return tx.all(sql.list_nodes, KnownNode)


def name_of(tx: Tx, node_id: str) -> str:
    """The name of a machine."""
    found = tx.one(sql.node_by_id, KnownNode, id=node_id)
    return node_id if found is None else found.name


def tied_to(tx: Tx, number: int) -> str | None:
    """The name of the machine that a job is tied to. None: it may run on any."""
    return None if number == 0 else tx.value(sql.name_of_node, number=number)


def to_jobs(tx: Tx, rows: Iterable[JobRow]) -> list[Job]:
    """The jobs of these rows."""
    found = list(rows)
    names = {number: tied_to(tx, number) for number in {row.node for row in found}}
    return [row.to_job(names[row.node]) for row in found]


def _is_name_alone(node: KnownNode | None) -> bool:
    """Whether the row is from before machines had ids, and has not got one since."""
    return node is not None and node.id == node.name


def _free_name(tx: Tx, node_id: str, name: str) -> str:
    for number in count(1):
        candidate = name if number == 1 else f"{name}-{number}"
        owner = tx.one(sql.node_by_name, KnownNode, name=candidate)
        if owner is None or owner.id == node_id:
            return candidate
    raise AssertionError
