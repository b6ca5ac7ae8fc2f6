"""Wrong tokens are counted, logged and slowed by address, and nobody else notices."""

from __future__ import annotations

import logging

import pytest

from holdfast.api.refused_counter import LOGGED_EVERY_S
from holdfast.api.wrong_tokens import (
    FORGOTTEN_AFTER_S,
    FREE_TRIES,
    LONGEST_WAIT_S,
    MOST_ADDRESSES,
    WrongTokens,
)
from tests.api.caller import Caller, on_tcp
from tests.api.running import RunningApi


class Time:
    """A clock that stands still unless it is moved."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def wrong(time: Time) -> WrongTokens:
    return WrongTokens(time)


def try_often(wrong: WrongTokens, address: str, times: int) -> None:
    for _ in range(times):
        wrong.note(address, "unknown")


def test_the_first_tries_cost_nothing(wrong: WrongTokens) -> None:
    try_often(wrong, "10.0.0.1", FREE_TRIES - 1)
    assert wrong.wait_s("10.0.0.1") == 0


def test_each_try_more_makes_the_wait_longer_up_to_a_bound(wrong: WrongTokens) -> None:
    try_often(wrong, "10.0.0.1", FREE_TRIES)
    waits = []
    for _ in range(10):
        waits.append(wrong.wait_s("10.0.0.1"))
        try_often(wrong, "10.0.0.1", 1)
    assert waits == [1, 2, 4, 8, 16, 32, *[LONGEST_WAIT_S] * 4]
    try_often(wrong, "10.0.0.1", 5_000)
    assert wrong.wait_s("10.0.0.1") == LONGEST_WAIT_S


def test_other_addresses_do_not_wait(wrong: WrongTokens) -> None:
    try_often(wrong, "10.0.0.1", 50)
    assert wrong.wait_s("10.0.0.2") == 0


def test_one_customer_of_ipv6_is_one_address(wrong: WrongTokens) -> None:
    for number in range(FREE_TRIES):
        wrong.note(f"2001:db8:1:2::{number:x}", "unknown")
    assert wrong.wait_s("2001:db8:1:2:ffff::1") > 0
    assert wrong.wait_s("2001:db8:1:3::1") == 0
    try_often(wrong, "::ffff:10.0.0.1", FREE_TRIES)
    assert wrong.wait_s("10.0.0.1") > 0
    assert wrong.wait_s("::ffff:10.0.0.2") == 0
    assert wrong.wait_s("fe80::1%eth0") == 0


def test_the_wait_passes_and_the_tries_are_forgotten(wrong: WrongTokens, time: Time) -> None:
    try_often(wrong, "10.0.0.1", FREE_TRIES)
    time.now += 1
    assert wrong.wait_s("10.0.0.1") == 0
    time.now += FORGOTTEN_AFTER_S
    wrong.note("10.0.0.2", "unknown")
    assert list(wrong._tries) == ["10.0.0.2"]


def test_many_addresses_take_no_more_memory_than_few(wrong: WrongTokens) -> None:
    for number in range(MOST_ADDRESSES + 100):
        wrong.note(f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}", "unknown")
    assert len(wrong._tries) == MOST_ADDRESSES
    assert "10.0.0.0" not in wrong._tries


def test_a_flood_is_a_few_lines_of_the_log(wrong: WrongTokens, time: Time, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "holdfast.api"):
        try_often(wrong, "10.0.0.1", 100)
        time.now += LOGGED_EVERY_S
        wrong.note("10.0.0.2", "unknown")
    assert [record.getMessage() for record in caplog.records] == [
        "wrong tokens: 1, the last one from 10.0.0.1",
        "wrong tokens: 100, the last one from 10.0.0.2",
    ]


@pytest.fixture
def stopped(api: RunningApi) -> Time:
    """The time of the tries stands still."""
    time = Time()
    api.wrong._now = time
    return time


def as_user(api: RunningApi, token: str) -> Caller:
    return on_tcp(api, Authorization=f"Bearer {token}")


def test_who_tries_too_often_is_told_to_wait_and_others_are_served(
    api: RunningApi, caller: Caller, stopped: Time
) -> None:
    right = caller.post("/v1/users", {"name": "ci", "role": "read"}).json["token"]
    unseen = caller.post("/v1/users", {"name": "unseen", "role": "read"}).json["token"]
    assert as_user(api, right).get("/v1/stats").status == 200
    for number in range(FREE_TRIES):
        assert as_user(api, f"hf_{number}").get("/v1/stats").status == 401
    for _ in range(3):
        reply = as_user(api, "hf_more").get("/v1/stats")
        assert (reply.status, reply.code, reply.headers["retry-after"]) == (429, "ERR_TOO_MANY_TRIES", "1")
    # All of them call from one address, as all programs of a machine do.
    assert as_user(api, right).get("/v1/stats").status == 200
    assert on_tcp(api).get("/v1/stats").status == 200
    assert caller.get("/v1/stats").status == 200
    assert as_user(api, unseen).get("/v1/stats").status == 200
    assert api.wrong.refused.counts == {"unknown": FREE_TRIES, "early": 3}
    stopped.now += 1
    assert as_user(api, "hf_more").get("/v1/stats").status == 401


def test_a_token_that_was_right_is_slowed_once_it_is_revoked(api: RunningApi, caller: Caller, stopped: Time) -> None:
    token = caller.post("/v1/users", {"name": "ci", "role": "read"}).json["token"]
    user = as_user(api, token)
    assert user.get("/v1/stats").status == 200
    caller.post("/v1/users/ci/revoke")
    assert [user.get("/v1/stats").status for _ in range(FREE_TRIES + 1)] == [401] * FREE_TRIES + [429]
    assert api.wrong.refused.counts == {"revoked": FREE_TRIES, "early": 1}


def test_a_missing_token_is_not_a_wrong_one(api: RunningApi) -> None:
    for _ in range(FREE_TRIES + 1):
        assert on_tcp(api, Authorization="").get("/v1/stats").status == 401
    assert not api.wrong.refused.counts
