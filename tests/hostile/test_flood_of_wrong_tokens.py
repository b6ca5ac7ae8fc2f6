"""Whoever floods an address with wrong tokens keeps nobody else there out, and costs one read of hashes a second."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

import pytest

from holdfast.api.access import Access
from holdfast.api.refusals import TooManyTries
from holdfast.api.wrong_tokens import FREE_TRIES, WrongTokens
from holdfast.core.access import Role
from holdfast.core.errors import InvalidToken, StoreUnavailable
from holdfast.runtime.clock import ManualClock, SystemClock
from holdfast.store.engine import Engine
from holdfast.store.postgres.engine import PostgresEngine
from holdfast.store.scripts.access.users import add_user, revoke_user, rotate_token
from holdfast.store.sqlite.engine import SqliteEngine
from holdfast.store.statements import Dialect
from tests.api.caller import Caller, on_tcp
from tests.api.running import RunningApi, running_api
from tests.migrated import copy_migrated

T = TypeVar("T")

ADDRESS = "10.0.0.1"
FLOOD = 1_000
TOKENS, USER = "hashes_of_valid_tokens", "user_of_token"


class Counted:
    """Counts the reads by their scripts. `before` is awaited before each."""

    reads: Counter[str]
    before: Callable[[], Coroutine[Any, Any, object]] | None = None

    async def read(self, script: Callable[..., Any], *args: Any, **kw: Any) -> Any:
        self.reads[script.__name__] += 1
        if self.before is not None:
            await self.before()
        return await super().read(script, *args, **kw)  # type: ignore[misc]  # of the engine


class CountedSqlite(Counted, SqliteEngine):
    pass


class CountedPostgres(Counted, PostgresEngine):
    pass


class Door:
    """The access to a daemon, and those who come from one address. All time is that of one clock."""

    def __init__(self, engine: CountedSqlite | CountedPostgres, clock: ManualClock) -> None:
        self.engine = engine
        self.clock = clock
        self.wrong = WrongTokens(clock.monotonic)
        self.access = Access("of the home", engine, clock, self.wrong)
        engine.reads = Counter()

    def add(self, name: str, expires_in_ms: int | None = None) -> str:
        return self.engine.run(add_user, name, Role.READ, self.clock.now(), expires_in_ms).token

    async def come(self, token: str) -> str:
        """Who that is, or why nobody comes in."""
        try:
            caller = await self.access.caller(token.encode(), ADDRESS)
        except (TooManyTries, InvalidToken, StoreUnavailable) as error:
            return error.code
        return caller.user or "home"

    async def come_at_once(self, count: int) -> Counter[str]:
        return Counter(await asyncio.gather(*(self.come(f"hf_wrong-{number}") for number in range(count))))

    async def be_slowed(self) -> None:
        """Come with wrong tokens until the address has to wait, and count the reads from there on."""
        for number in range(FREE_TRIES):
            assert await self.come(f"hf_first-{number}") == "ERR_TOKEN"
        # For longer than any test takes.
        for _ in range(20):
            self.wrong.note(ADDRESS, "unknown")
        self.engine.reads.clear()


@pytest.fixture(params=list(Dialect))
def door(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Door]:
    """On each engine."""
    clock = ManualClock()
    made: CountedSqlite | CountedPostgres
    if request.param is Dialect.SQLITE:
        made = CountedSqlite(copy_migrated(tmp_path / "work.db"), durability="normal", now=clock.now)
    else:
        made = CountedPostgres(request.getfixturevalue("postgres_url"), schema=f"t_{uuid4().hex}", now=clock.now)
    yield Door(made, clock)
    made.close()


EARLY, WRONG = "ERR_TOO_MANY_TRIES", "ERR_TOKEN"


def test_a_flood_costs_one_read_a_second(door: Door) -> None:
    door.add("ci")

    async def work() -> None:
        await door.be_slowed()
        for second in range(3):
            for _ in range(3):
                assert await door.come_at_once(FLOOD) == {EARLY: FLOOD}
            assert door.engine.reads == {TOKENS: second + 1}
            door.clock.advance(1)

    asyncio.run(work())
    assert door.wrong.refused.counts["early"] == 9 * FLOOD


def test_a_right_token_comes_in_that_was_never_seen_before(door: Door) -> None:
    token = door.add("ci")

    async def work() -> None:
        await door.be_slowed()
        for _ in range(3):
            assert await door.come_at_once(FLOOD) == {EARLY: FLOOD}
            assert await door.come(token) == "ci"
        assert door.engine.reads == {TOKENS: 1, USER: 3}
        assert await door.come("of the home") == "home"
        assert door.engine.reads == {TOKENS: 1, USER: 3}

    asyncio.run(work())


def test_a_new_token_comes_in_a_second_later(door: Door) -> None:
    old = door.add("ci")

    async def work() -> None:
        await door.be_slowed()
        assert await door.come(old) == "ci"
        new = door.engine.run(rotate_token, "ci", door.clock.now()).token
        added = door.add("more")
        assert [await door.come(token) for token in (new, added)] == [EARLY, EARLY]
        door.clock.advance(1)
        assert [await door.come(token) for token in (old, new, added)] == [EARLY, "ci", "more"]

    asyncio.run(work())


@pytest.mark.parametrize("end", ["revoked", "rotated", "expired"])
def test_a_token_that_ends_is_looked_up_once_more_at_most(door: Door, end: str) -> None:
    token = door.add("ci", 500)

    async def work() -> None:
        await door.be_slowed()
        assert await door.come(token) == "ci"
        match end:
            case "revoked":
                door.engine.run(revoke_user, "ci", door.clock.now())
            case "rotated":
                door.engine.run(rotate_token, "ci", door.clock.now())
            case "expired":
                door.clock.advance(0.5)
        assert [await door.come(token) for _ in range(3)] == [WRONG, EARLY, EARLY]
        door.clock.advance(1)
        assert [await door.come(token) for _ in range(3)] == [EARLY] * 3
        assert door.engine.reads == {TOKENS: 2, USER: 2}

    asyncio.run(work())


def test_all_who_wait_share_one_read_however_long_it_takes(door: Door) -> None:
    token = door.add("ci")

    async def work() -> None:
        await door.be_slowed()
        may_go = asyncio.Event()
        door.engine.before = may_go.wait
        waiting = [asyncio.create_task(door.come(f"hf_wrong-{number}")) for number in range(FLOOD)]
        await asyncio.sleep(0)
        door.clock.advance(5)
        right = asyncio.create_task(door.come(token))
        await asyncio.sleep(0)
        # Whoever goes away, be it the first, takes the read from nobody.
        waiting.pop(0).cancel()
        await asyncio.sleep(0)
        assert door.engine.reads == {TOKENS: 1}
        may_go.set()
        assert Counter(await asyncio.gather(*waiting)) == {EARLY: FLOOD - 1}
        assert await right == "ci"
        assert door.engine.reads == {TOKENS: 1, USER: 1}

    asyncio.run(work())


def test_a_read_that_fails_is_not_tried_again_at_once(door: Door) -> None:
    token = door.add("ci")

    async def fail() -> None:
        raise StoreUnavailable("the disk is on fire")

    async def work() -> None:
        await door.be_slowed()
        door.engine.before = fail
        assert await door.come_at_once(FLOOD) == {StoreUnavailable.code: FLOOD}
        assert await door.come_at_once(FLOOD) == {StoreUnavailable.code: FLOOD}
        assert door.engine.reads == {TOKENS: 1}
        door.engine.before = None
        door.clock.advance(1)
        assert await door.come(token) == "ci"

    asyncio.run(work())


@pytest.fixture(params=list(Dialect))
def api(request: pytest.FixtureRequest) -> Iterator[RunningApi]:
    """An API on each engine."""
    engine: Engine | None = None
    if request.param is Dialect.POSTGRES:
        url, schema = request.getfixturevalue("postgres_url"), request.getfixturevalue("postgres_schema")
        engine = PostgresEngine(url, schema=schema, now=SystemClock().now)
    with running_api(engine, port=0) as api:
        yield api


def as_user(api: RunningApi, token: str) -> Caller:
    return on_tcp(api, Authorization=f"Bearer {token}")


def test_over_the_network_a_token_that_was_not_seen_before_comes_in(api: RunningApi) -> None:
    api.wrong._now = lambda: 1_000.0
    token = api.engine.run(add_user, "ci", Role.READ, SystemClock().now()).token
    statuses = [as_user(api, f"hf_wrong-{number}").get("/v1/stats").status for number in range(FREE_TRIES + 1)]
    assert statuses == [401] * FREE_TRIES + [429]
    assert as_user(api, token).get("/v1/stats").status == 200
