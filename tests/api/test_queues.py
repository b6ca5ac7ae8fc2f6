"""Queues over HTTP: their settings, and the door that is closed while one is full."""

from __future__ import annotations

import pytest

from tests.api.caller import Caller, new_job


def set_queue(caller: Caller, name: str, **changes: object) -> int:
    return caller.put(f"/v1/queues/{name}", {"changes": changes}).status


def test_settings_are_changed_one_by_one_and_set_back(caller: Caller) -> None:
    usual = caller.get("/v1/queues/mail").json
    assert set_queue(caller, "mail", concurrency=2, rate_limit=10, rate_window_ms=60_000) == 200
    assert set_queue(caller, "mail", max_length=5, overflow="shed", retry={"retries": 3}, clear=["concurrency"]) == 200
    found = caller.get("/v1/queues/mail").json
    assert (found["concurrency"], found["rate_limit"], found["max_length"]) == (None, 10, 5)
    assert (found["overflow"], found["retry"]["retries"]) == ("shed", 3)
    assert caller.get("/v1/queues").json == [found]
    assert set_queue(caller, "mail", breaker=2, breaker_for_ms=900) == 200
    assert caller.get("/v1/queues/mail").json["breaker"] == 2
    every = ["concurrency", "rate", "max_length", "overflow", "queue_class", "retry", "timeout", "breaker"]
    assert caller.put("/v1/queues/mail", {"changes": {"clear": every}}).json == usual


@pytest.mark.parametrize(
    "changes",
    [
        {"rate_limit": 0},
        {"rate_limit": 5},
        {"max_length": -1},
        {"breaker": -1},
        {"breaker_for_ms": 0},
        {"overflow": "drop"},
        {"queue_class": "fat"},
        {"clear": ["speed"]},
        {"speed": 5},
    ],
)
def test_a_setting_that_does_not_fit_is_refused(caller: Caller, changes: dict[str, object]) -> None:
    assert caller.put("/v1/queues/mail", {"changes": changes}).code == "ERR_INVALID_INPUT"
    assert caller.get("/v1/queues").json == []


def test_a_full_queue_answers_429_and_says_when_to_ask_again(caller: Caller) -> None:
    set_queue(caller, "narrow", max_length=2)
    caller.enqueue(queue="narrow")
    two = {"jobs": [new_job(queue="narrow"), new_job(queue="narrow")]}
    refused = caller.post("/v1/jobs", two)
    assert (refused.status, refused.code, refused.headers["retry-after"]) == (429, "ERR_QUEUE_FULL", "1")
    assert "queue 'narrow' is full" in refused.detail
    assert [job["queue"] for job in caller.get("/v1/jobs").json["jobs"]] == ["narrow"]
    caller.post("/v1/jobs/1/cancel")
    assert caller.post("/v1/jobs", two).status == 201


def test_what_never_fits_is_not_told_to_ask_again(caller: Caller) -> None:
    set_queue(caller, "shut", max_length=0)
    refused = caller.post("/v1/jobs", {"jobs": [new_job(queue="shut")]})
    assert (refused.status, refused.code) == (429, "ERR_QUEUE_FULL")
    assert "retry-after" not in refused.headers
