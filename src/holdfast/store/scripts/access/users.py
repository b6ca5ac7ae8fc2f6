"""Users: who may call by TCP, with which role, and by which token. A token is shown once; its hash is stored."""

from __future__ import annotations

import secrets

from msgspec import structs

from holdfast.core.access import SECRET_BYTES, TOKEN_PREFIX, Role, hash_secret
from holdfast.core.errors import Conflict, NotFound
from holdfast.core.job import Millis
from holdfast.core.messages.access import NewToken, User
from holdfast.core.settings import rule_table
from holdfast.store.engine import Tx
from holdfast.store.statements import sql

NOTED_EVERY_MS: Millis = 60_000


def add_user(tx: Tx, name: str, role: Role, now: Millis, expires_in_ms: Millis | None = None) -> NewToken:
    """Let a user call by TCP. The token is in the answer, and nowhere else."""
    rule_table.check("name", name, "user")
    if tx.one(sql.user_by_name, _user, name=name) is not None:
        raise Conflict(f"there is a user {name!r} already; revoke it first, or rotate its token")
    user = User(tx.new_id(), name, role, now, None if expires_in_ms is None else now + expires_in_ms)
    token = _new_token()
    tx.run(
        sql.insert_user,
        id=user.id,
        name=name,
        role=role.value,
        token_hash=hash_secret(token),
        now=now,
        expires_at=user.expires_at,
    )
    return NewToken(user, token)


def list_users(tx: Tx) -> list[User]:
    """The users who may call by TCP, and after them those who were revoked."""
    return tx.all(sql.list_users, _user)


def find_id(tx: Tx, name: str) -> str | None:
    """The id of the user with this name who may call by TCP."""
    user = tx.one(sql.user_by_name, _user, name=name)
    return None if user is None else user.id


def revoke_user(tx: Tx, name: str, now: Millis) -> User:
    """Refuse the calls of a user from now on. The name may be given again."""
    user = _find(tx, name)
    tx.run(sql.disable_user, id=user.id, now=now)
    return structs.replace(user, disabled_at=now)


def rotate_token(tx: Tx, name: str, now: Millis, expires_in_ms: Millis | None = None) -> NewToken:
    """Give a user a new token. The old one stops at once. Without `expires_in_ms`, the expiry stays as it was."""
    user = _find(tx, name)
    if expires_in_ms is None and user.has_expired(now):
        raise Conflict(f"the time of user {name!r} is over, so a new token would not work; say how long it shall be")
    token = _new_token()
    expires_at = user.expires_at if expires_in_ms is None else now + expires_in_ms
    tx.run(sql.rotate_token, id=user.id, token_hash=hash_secret(token), expires_at=expires_at)
    return NewToken(structs.replace(user, expires_at=expires_at), token)


def user_of_token(tx: Tx, token_hash: str) -> User | None:
    """The user whose token this is, or was."""
    return tx.one(sql.user_of_token, _user, token_hash=token_hash)


def hashes_of_valid_tokens(tx: Tx, now: Millis) -> set[str]:
    """The hashes of the tokens of all users who may call now."""
    return set(tx.all(sql.hashes_of_valid_tokens, str, now=now))


def note_use_of_token(tx: Tx, id: str, now: Millis) -> None:
    """Remember that a user has called, unless that was written in the last minute."""
    tx.run(sql.note_use_of_token, id=id, now=now, before=now - NOTED_EVERY_MS)


def _find(tx: Tx, name: str) -> User:
    user = tx.one(sql.user_by_name, _user, name=name)
    if user is None:
        raise NotFound(f"there is no user {name!r}, or it was revoked; see: holdfast access ls")
    return user


def _user(id: str, name: str, role: str, *moments: Millis | None) -> User:
    return User(id, name, Role(role), *moments)  # type: ignore[arg-type]  # in the order of the columns


def _new_token() -> str:
    return TOKEN_PREFIX + secrets.token_urlsafe(SECRET_BYTES)
