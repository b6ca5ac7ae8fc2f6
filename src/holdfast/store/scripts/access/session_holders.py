"""Check that a caller holds a session, and its runs: it knows the secret that the session was opened with.

A session without a secret (of a worker that speaks protocol 1) is held without one.
"""

from __future__ import annotations

from msgspec import Struct

from holdfast.core.access import hash_secret
from holdfast.core.errors import NotHolder
from holdfast.core.job import RunId, SessionId
from holdfast.store.engine import Tx
from holdfast.store.statements import sql


class SecretRow(Struct, frozen=True):
    """What is stored of the secret of a session."""

    is_there: int
    secret_hash: str | None


def hash_of(secret: str | None) -> str | None:
    """The hash of a secret, which is stored and compared."""
    return None if secret is None else hash_secret(secret)


def check_holder(tx: Tx, session_id: SessionId, secret: str | None) -> None:
    """Refuse a caller that does not know the secret of a session. A session that is not there has none."""
    held = tx.one(sql.secret_of_session, SecretRow, id=session_id)
    if held is not None and held.secret_hash != hash_of(secret):
        raise NotHolder(f"session {session_id} was opened with another secret; only its worker speaks for it")


def check_holder_of_run(tx: Tx, run_id: RunId, secret: str | None) -> None:
    """The same, for the session that began a run."""
    held = tx.one(sql.secret_of_run, SecretRow, id=run_id)
    if held is not None and held.secret_hash != hash_of(secret):
        raise NotHolder(not_held(run_id))


def not_held(run_id: RunId) -> str:
    """The message for a caller that does not hold a run."""
    return f"the session of run {run_id} was opened with another secret; only its worker reports it"
