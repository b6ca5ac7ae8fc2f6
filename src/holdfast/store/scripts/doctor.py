"""Look for what must never be: every invariant is a query that should return no row."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from holdfast.store.engine import Engine, Tx
from holdfast.store.statements import statements


class Violation(Struct, frozen=True):
    """An invariant that does not hold, with the rows that break it."""

    invariant: str
    rows: list[dict[str, Any]]


def broken_invariants(tx: Tx) -> list[Violation]:
    """Every invariant that does not hold."""
    invariants = statements("sql/invariants")
    found = [(name, tx.rows(getattr(invariants, name))) for name in invariants.names()]
    return [Violation(name, rows) for name, rows in found if rows]


def examine(engine: Engine) -> list[Violation]:
    """The invariants, and what the database says about itself."""
    said = engine.check()
    damage = [Violation("database", [{"message": line} for line in said])] if said else []
    return damage if any("integrity_check" in line for line in said) else damage + engine.query(broken_invariants)
