"""What a webhook may be, and how its deliveries are signed."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast.core.errors import InvalidInput
from holdfast.core.settings.rule_table import check
from holdfast.core.values.event import Event
from holdfast.core.values.retry import Failure, FailureKind, RetryAt, Tries, after_failure
from holdfast.core.webhooks.addresses import AddressPolicy
from holdfast.core.webhooks.webhook import (
    SCHEDULE,
    Target,
    check_target,
    is_signed,
    key_of,
    name_for,
    read_url,
    sign,
)

SECRET = "a-secret-of-ours"


@pytest.mark.parametrize(
    ("url", "target", "authority"),
    [
        ("https://hooks.example", Target(True, "hooks.example", 443, "/"), "hooks.example"),
        ("http://hooks.example:8080/a?b=c#d", Target(False, "hooks.example", 8080, "/a?b=c"), "hooks.example:8080"),
        ("http://[2606:4700::1]/x", Target(False, "2606:4700::1", 80, "/x"), "[2606:4700::1]"),
    ],
)
def test_a_url_says_where_it_leads(url: str, target: Target, authority: str) -> None:
    assert read_url(url) == target
    assert target.authority == authority


@pytest.mark.parametrize(
    "url",
    [
        "",
        "hooks.example",
        "ftp://hooks.example",
        "file:///etc/passwd",
        "https://",
        "https://user@hooks.example",
        "https://user:word@hooks.example",
        "https://hooks.example/a b",
        "https://hooks.example/\r\nX: y",
        "https://hooks.example:0/",
        "https://hooks.example:99999/",
        "https://[::1",
        "https://hooks.example/" + "x" * 2_000,
        7,
    ],
)
def test_a_url_that_cannot_be_delivered_to_is_refused(url: Any) -> None:
    with pytest.raises(InvalidInput, match="url"):
        read_url(url)


@pytest.mark.parametrize(
    ("url", "flaw"),
    [
        ("ftp://hooks.example", "it begins otherwise"),
        ("https://hooks.example:0/", "it names no host, or port 0"),
        ("https://127.1/", "host '127.1' is no address: write it like 192.0.2.1 or [2001:db8::1]"),
    ],
)
def test_the_flaw_of_a_url_is_named(url: str, flaw: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        read_url(url)
    assert str(refused.value).startswith(f"url {url!r} is not valid: use an http:// or https:// address")
    assert str(refused.value).endswith(flaw)


@pytest.mark.parametrize("url", ["https://ann:hush@hooks.example", "https://ann:hush@hooks.example/ b", "//ann:hush@x"])
def test_a_password_in_a_url_is_not_repeated(url: str) -> None:
    with pytest.raises(InvalidInput, match=r"url .*//\*\*\*@.* is not valid") as refused:
        read_url(url)
    assert "hush" not in str(refused.value)


def test_a_url_with_an_address_that_is_not_allowed_is_refused_with_what_to_do() -> None:
    with pytest.raises(InvalidInput, match=r"127\.0\.0\.1: the address is loopback.*\[webhooks\]"):
        check_target("http://127.0.0.1/", AddressPolicy())
    check_target("http://127.0.0.1/", AddressPolicy.of(["127.0.0.1"]))


@pytest.mark.parametrize("secret", ["", "short", "with a space in between", "x" * 201, None])
def test_a_secret_that_is_refused_is_not_repeated(secret: object) -> None:
    with pytest.raises(InvalidInput, match="secret is not valid") as refused:
        check("NewWebhook.secret", secret, "secret")
    assert not secret or str(secret) not in str(refused.value)


def test_a_signature_holds_for_its_secret_moment_and_body_alone() -> None:
    signed = sign(SECRET, "1", b"body")
    assert is_signed(SECRET, "1", b"body", f"v1=00, {signed}")
    assert not any(
        is_signed(*given)
        for given in (
            ("another-secret-x", "1", b"body", signed),
            (SECRET, "2", b"body", signed),
            (SECRET, "1", b"Body", signed),
            (SECRET, "1", b"body", ""),
            (SECRET, "1", b"body", "v1=é"),
        )
    )


def test_a_retry_follows_after_5_15_and_45_seconds() -> None:
    failure = Failure(FailureKind.TRANSIENT, "X", "")
    waits = [after_failure(SCHEDULE, Tries(tries), failure, 0, 0.0) for tries in (1, 2, 3)]
    assert waits == [RetryAt(5_000), RetryAt(15_000), RetryAt(45_000)]


def test_a_retry_comes_no_sooner_than_it_was_asked_for() -> None:
    failure = Failure(FailureKind.TRANSIENT, "X", "", wait_ms=60_000)
    assert after_failure(SCHEDULE, Tries(1), failure, 0, 0.0) == RetryAt(60_000)
    short = Failure(FailureKind.TRANSIENT, "X", "", wait_ms=1)
    assert after_failure(SCHEDULE, Tries(1), short, 0, 0.0) == RetryAt(5_000)


@pytest.mark.parametrize(
    ("name", "attributes", "key"),
    [
        ("job.run.failed", {"run_id": "r1"}, "r1"),
        ("job.run.failed", {}, "e1"),
        ("job.run.failed", {"run_id": "r1\r\nX: y"}, "e1"),
        ("job.failed", {"run_id": "r1"}, "e1"),
    ],
)
def test_the_idempotency_key_is_the_run_that_an_event_is_about_or_else_the_event(
    name: str, attributes: dict[str, str], key: str
) -> None:
    assert key_of(Event(id="e1", name=name, attributes=attributes, emitted_at=0)) == key


def test_a_webhook_is_called_like_its_host() -> None:
    assert [name_for(url) for url in ("https://ci.example/x", "http://[::1]/")] == ["ci.example", "webhook"]
