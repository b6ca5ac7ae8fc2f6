"""Users: a token is shown once and stored as a hash; a name that was revoked is free again."""

from __future__ import annotations

import pytest

from holdfast.core.access import Role, hash_secret
from holdfast.core.errors import Conflict, InvalidInput, NotFound
from holdfast.core.messages.access import NewToken, User
from holdfast.store.engine import Engine
from holdfast.store.scripts.access.users import (
    NOTED_EVERY_MS,
    add_user,
    hashes_of_valid_tokens,
    list_users,
    note_use_of_token,
    revoke_user,
    rotate_token,
    user_of_token,
)
from tests.store.acts import NOW, select


def add(engine: Engine, name: str = "ci", role: Role = Role.OPERATE, expires_in_ms: int | None = None) -> NewToken:
    return engine.run(add_user, name, role, NOW, expires_in_ms)


def holder(engine: Engine, made: NewToken) -> User | None:
    return engine.query(user_of_token, hash_secret(made.token))


def test_a_user_is_found_by_the_token(engine: Engine) -> None:
    made = add(engine, expires_in_ms=1_000)
    assert holder(engine, made) == made.user
    assert (made.user.name, made.user.role, made.user.expires_at) == ("ci", Role.OPERATE, NOW + 1_000)
    assert engine.query(user_of_token, hash_secret("hf_another")) is None


def test_the_hashes_of_valid_tokens_are_those_of_users_who_may_call(engine: Engine) -> None:
    valid, over = add(engine), add(engine, "over", expires_in_ms=1_000)
    add(engine, "revoked")
    engine.run(revoke_user, "revoked", NOW)
    add(engine, "rotated")
    rotated = engine.run(rotate_token, "rotated", NOW)
    hashes = {hash_secret(made.token) for made in (valid, over, rotated)}
    assert engine.query(hashes_of_valid_tokens, NOW + 999) == hashes
    assert engine.query(hashes_of_valid_tokens, NOW + 1_000) == hashes - {hash_secret(over.token)}


def test_the_token_itself_is_stored_nowhere(engine: Engine) -> None:
    made = add(engine)
    [row] = select(engine, "SELECT * FROM users WHERE id <> 'local'")
    assert made.token not in str(row)
    assert row["token_hash"] == hash_secret(made.token)
    assert made.token not in repr(made)


def test_every_token_is_another_one(engine: Engine) -> None:
    tokens = {add(engine, f"user-{number}").token for number in range(20)}
    assert len(tokens) == 20
    assert all(token.startswith("hf_") and len(token) == 46 for token in tokens)


def test_a_name_is_there_once_until_it_is_revoked(engine: Engine) -> None:
    first = add(engine)
    with pytest.raises(Conflict, match="there is a user 'ci' already"):
        add(engine, role=Role.READ)
    assert engine.run(revoke_user, "ci", NOW + 5).disabled_at == NOW + 5
    with pytest.raises(NotFound, match="no user 'ci'"):
        engine.run(revoke_user, "ci", NOW + 6)
    second = add(engine, role=Role.READ)
    assert [user.id for user in engine.query(list_users)] == [second.user.id, first.user.id]
    found = holder(engine, first)
    assert found is not None
    assert found.disabled_at == NOW + 5


def test_a_rotated_token_leaves_nothing_of_the_old_one(engine: Engine) -> None:
    old = add(engine, expires_in_ms=1_000)
    new = engine.run(rotate_token, "ci", NOW + 1, None)
    assert holder(engine, old) is None
    assert holder(engine, new) == old.user
    later = engine.run(rotate_token, "ci", NOW + 2, 5_000)
    assert later.user.expires_at == NOW + 5_002


def test_a_user_whose_time_is_over_needs_a_new_one(engine: Engine) -> None:
    add(engine, expires_in_ms=1_000)
    with pytest.raises(Conflict, match="time of user 'ci' is over"):
        engine.run(rotate_token, "ci", NOW + 1_000, None)
    assert not engine.run(rotate_token, "ci", NOW + 1_000, 10).user.has_expired(NOW + 1_009)


def test_the_use_of_a_token_is_noted_once_a_minute(engine: Engine) -> None:
    user = add(engine).user

    def used(now: int) -> int | None:
        engine.run(note_use_of_token, user.id, now)
        return engine.query(list_users)[0].last_used_at

    assert used(NOW) == NOW
    assert used(NOW + NOTED_EVERY_MS - 1) == NOW
    assert used(NOW + NOTED_EVERY_MS) == NOW + NOTED_EVERY_MS
    # Of a clock that went back nothing is concluded.
    assert used(NOW) == NOW


def test_a_name_that_is_none_is_refused(engine: Engine) -> None:
    with pytest.raises(InvalidInput, match="user 'a b' is not valid"):
        add(engine, "a b")
