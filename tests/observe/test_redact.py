"""What is hidden from people, and what is not."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.observe.redact import (
    HIDDEN,
    MAX_DEPTH,
    TOO_DEEP,
    is_secret,
    redacted,
    redacted_head,
    redacted_json,
    redacted_text,
)


@pytest.mark.parametrize(
    "key",
    [
        "password",
        "PASSWORD",
        "db_password",
        "passwordHash",
        "db_pwd",
        "token",
        "accessToken",
        "X-Api-Key",
        "apikey",
        "AWS_SECRET_ACCESS_KEY",
        "client-secret",
        "Authorization",
        "set-cookie",
        "credentials",
        "private_key",
        "basic_auth",
        "PGPASSWORD",
        "mysqlPassword",
        "SMTP_PASS",
        "dbPass",
    ],
)
def test_a_key_that_looks_secret_is_known_however_it_is_written(key: str) -> None:
    assert is_secret(key)


@pytest.mark.parametrize(
    "key",
    [
        "tokenizer",
        "secretary",
        "passenger",
        "PWD",
        "author",
        "idempotency_key",
        "public_key",
        "session_id",
        "key",
        "",
        "pass",
        "bypass",
        "passes",
    ],
)
def test_an_ordinary_key_is_left_alone(key: str) -> None:
    assert not is_secret(key)


def test_secrets_are_hidden_at_every_depth_and_the_rest_stays() -> None:
    value = {"user": "ada", "list": [{"login": {"password": "hunter2", "tries": 3}}], "token": ["a", "b"]}
    assert redacted(value) == {"user": "ada", "list": [{"login": {"password": HIDDEN, "tries": 3}}], "token": HIDDEN}


def test_the_value_that_came_in_is_not_changed() -> None:
    value = {"password": "hunter2"}
    redacted(value)
    assert value == {"password": "hunter2"}


def test_how_many_tokens_is_no_secret() -> None:
    assert redacted({"max_tokens": 100, "token": 100}) == {"max_tokens": 100, "token": HIDDEN}


def test_nothing_and_yes_or_no_are_no_secrets() -> None:
    assert redacted({"token": None, "password": False}) == {"token": None, "password": False}


def test_a_pair_of_name_and_value_is_understood() -> None:
    assert redacted([{"name": "API_KEY", "value": "abc"}, {"name": "CITY", "value": "Kyoto"}]) == [
        {"name": "API_KEY", "value": HIDDEN},
        {"name": "CITY", "value": "Kyoto"},
    ]


def test_the_words_of_a_command_are_understood() -> None:
    argv = ["deploy", "--password", "hunter2", "--token=abc", "--city", "Kyoto", "-H", "Authorization: Bearer abcdef"]
    assert redacted(argv) == [
        "deploy",
        "--password",
        HIDDEN,
        f"--token={HIDDEN}",
        "--city",
        "Kyoto",
        "-H",
        f"Authorization: {HIDDEN}",
    ]


def test_the_user_of_a_command_is_shown_without_the_password() -> None:
    assert redacted(["curl", "-u", "ada:hunter2", "-u", "ada"]) == ["curl", "-u", "ada:***", "-u", "ada"]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("login with password=hunter2 failed", "login with password=*** failed"),
        ("url?token=abc&page=2", "url?token=***&page=2"),
        ('{"api_key": "abc", "page": 2}', '{"api_key": "***", "page": 2}'),
        ("{'api_key': 'abc'}", "{'api_key': '***'}"),
        ("password: hunter2", "password: ***"),
        ("sent Bearer abc.def-123 to it", "sent Bearer *** to it"),
        ("Authorization: Digest username=ada, response=f00\nHost: x", "Authorization: ***\nHost: x"),
        ("Cookie: session=1; other=2", "Cookie: ***"),
        ("postgresql://ada:hunter2@db/work", "postgresql://ada:***@db/work"),
        ("redis://:hunter2@db", "redis://:***@db"),
        ("mysql --password hunter2 -u ada", "mysql --password *** -u ada"),
        ('secret="two words" next', 'secret="***" next'),
        ("PGPASSWORD=hunter2 psql -U ada", "PGPASSWORD=*** psql -U ada"),
        ("export SMTP_PASS=hunter2", "export SMTP_PASS=***"),
        ("SMTP_PASS: hunter2", "SMTP_PASS: ***"),
        ("jdbc:mysql://ada:hunter2@db:3306/x", "jdbc:mysql://ada:***@db:3306/x"),
        ("mongodb+srv://ada:hun@ter:2@db/x@y", "mongodb+srv://ada:***@db/x@y"),
        ("amqp://ada:hun/ter2@db/work", "amqp://ada:***@db/work"),
        ("ftp://ada:12345@db", "ftp://ada:***@db"),
        (f"https://ada:{'x' * 5_000}@db", "https://ada:***@db"),
        ("curl -u ada:hunter2 https://x", "curl -u ada:*** https://x"),
        ("curl --user=ada:hunter2", "curl --user=ada:***"),
        ("curl --proxy-user 'ada:two words' x", "curl --proxy-user 'ada:***' x"),
        ("a= password=hunter2", "a= password=***"),
        ("password=\nnext", "password=\nnext"),
        ('{"password": "hunt', '{"password": "***"'),
        (r"{\"password\": \"hunter2\", \"n\": 1}", r"{\"password\": \"***\", \"n\": 1}"),
        (r'password="a \" b" c', 'password="***" c'),
        (r'password="a \\" c', 'password="***" c'),
        (r"{\"password\": \"a\\\"b\", \"n\": 1}", r"{\"password\": \"***\", \"n\": 1}"),
        (
            "-----BEGIN RSA PRIVATE KEY-----\nMII\n-----END RSA PRIVATE KEY-----",
            "-----BEGIN RSA PRIVATE KEY-----***-----END RSA PRIVATE KEY-----",
        ),
    ],
)
def test_a_text_does_not_give_a_secret_away(text: str, shown: str) -> None:
    assert redacted_text(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "unexpected token: }",
        "max_tokens=100",
        "job 12 of queue mail failed: KeyError: 'page'",
        "see https://example.org/a:b/c@d",
        "see http://example.org:8080/a@b",
        "docker run -u 1000:1000 image",
        "sort -u https://example.org/x",
        "the token is missing or wrong",
    ],
)
def test_an_ordinary_text_is_left_alone(text: str) -> None:
    assert redacted_text(text) == text


def test_a_document_is_read_as_json_and_anything_else_as_text() -> None:
    assert redacted_json('{"password":"x","n":1}') == '{"password":"***","n":1}'
    assert redacted_json('{"password":"x"') == '{"password":"***"'


def test_a_value_that_contains_itself_comes_to_an_end() -> None:
    value: dict[str, Any] = {}
    value["again"] = value
    shown = redacted(value)
    for _ in range(MAX_DEPTH):
        shown = shown["again"]
    assert shown == TOO_DEEP


@given(st.text(), st.text())
def test_nothing_around_a_secret_gives_it_away(before: str, after: str) -> None:
    once = redacted_text(f"{before} password=hunter2 {after}")
    assert "hunter2" not in once
    assert redacted_text(once) == once


@pytest.mark.parametrize(
    "text",
    [
        "a" * 1_000_000 + "key",
        "key=" * 250_000,
        'password="' * 100_000,
        "password=\\\\" * 90_000,
        "password " * 100_000,
        "a:b@" * 250_000,
        "\\" * 1_000_000 + '"password',
        'password="' + "\\" * 1_000_000,
        "password=" + "\\" * 500_000 + '"' + "\\" * 500_000,
    ],
)
def test_a_megabyte_takes_moments(text: str) -> None:
    # A pattern that goes back and back would run into the time limit of the tests.
    assert redacted_text(text + "://") is not None


CUT = {
    "password": "hunter2",
    "list": [1, -2.5e3, None, True, {"token": {"deep": "sesame"}}],
    "argv": ["--password", "pa55", '\\"quoted\n'],
    "name": "API_KEY",
    "value": "k3y",
    "rest": "x" * 50,
}


@pytest.mark.parametrize("spaces", [False, True])
def test_a_document_gives_nothing_away_wherever_it_is_cut(spaces: bool) -> None:
    text = json.dumps(CUT) if spaces else json.dumps(CUT, separators=(",", ":"))
    whole = json.dumps(redacted(CUT), separators=(",", ":"))
    for length in range(1, len(text) + 1):
        head = redacted_head(text[:length], 256)
        assert not any(secret in head for secret in ("hunter", "sesame", "pa55", "k3y")), (length, head)
        # What closes it is all that is not in the document itself.
        assert whole.startswith(head.rstrip('"]}nul:').rstrip("*.,-0123456789e"))


@given(st.text(max_size=50))
def test_the_head_of_anything_is_no_longer_than_asked_for(text: str) -> None:
    assert len(redacted_head(text, 20)) <= 20
