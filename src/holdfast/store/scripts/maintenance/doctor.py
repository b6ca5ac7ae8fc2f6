"""Check the invariants. Each is a query that must return no row."""

from __future__ import annotations

from holdfast.core.messages.maintenance import Violation
from holdfast.store.engine import Engine, Tx
from holdfast.store.statements import statements


def broken_invariants(tx: Tx) -> list[Violation]:
    """Every invariant that does not hold."""
    invariants = statements("sql/invariants")
    found = [(name, tx.rows(getattr(invariants, name))) for name in invariants.names]
    return [Violation(name, rows) for name, rows in found if rows]


def examine(engine: Engine) -> list[Violation]:
    """The broken invariants, and what the database itself finds wrong."""
    said = engine.check()
    damage = [Violation("database", [{"message": line} for line in said])] if said else []
    return damage if any("integrity_check" in line for line in said) else damage + engine.query(broken_invariants)
