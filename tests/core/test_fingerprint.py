"""Failures that differ only in what was at hand have one fingerprint, and others do not."""

from __future__ import annotations

import re
from string import ascii_lowercase

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.core.jobs.fingerprint import LONGEST_PATTERN, fingerprint_of, pattern_of

ALIKE = [
    ["file a.py line 3", "file b.py line 7", "file src/deep/b.py line 70", "file /srv/app/c.py line 7"],
    [
        "cannot open '/a/b'",
        "cannot open 'it's mine'",
        'cannot open "c"',
        "cannot open b'\\x00'",
        "cannot open `x y`",
        "cannot open \u201cz\u201d",
    ],
    [
        "connection to 10.0.0.1:5432 refused",
        "connection to db.example.com:5432 refused",
        "connection to [::ffff:1.2.3.4] refused",
    ],
    ["GET https://a.example/x?y=1 took 3.5s", "GET http://b.example:80 took 250ms"],
    ["job 3f2504e0-4f89-41d3-9a0c-0305e82c3301 is gone", "job 17 is gone", "job a1b2c3d4e5f6a7b8 is gone"],
    ["object at 0x7f00aa", "object at 0x1"],
    ["not after 2024-02-29T12:00:00.123Z", "not after 2025-01-01 00:00:00+01:00", "not after 1999-12-31"],
    ["no mail for ada@old.example", "no mail for eve+x@new.example"],
    ["[1, 2, 3] does not fit", "[4] does not fit"],
    ["bad row {'a': 1, 'b': 'x'}", "bad row {'c': 2}"],
    ["\x1b[31mexit\x1b[0m  code\n-9", "exit code 1"],
    ["token req_8fKx02Lmn is used up", "token req_Zb7pQQa1 is used up", "token 5 is used up"],
    ["quota 95% of 5GiB", "quota 7% of 12kB"],
    ["C:\\data\\x.bin is locked", "/data/x.bin is locked"],
]


@pytest.mark.parametrize("messages", ALIKE, ids=lambda messages: messages[0])
def test_messages_that_differ_in_what_was_at_hand_are_one(messages: list[str]) -> None:
    assert len({pattern_of(message) for message in messages}) == 1


def test_what_people_read_is_kept() -> None:
    assert pattern_of("can't reach the users' index: timed out") == "can't reach the users' index: timed out"
    assert pattern_of("file a.py line 3") == "file <*> line <*>"


def test_other_messages_codes_and_kinds_are_others() -> None:
    failures = [
        ("transient", "ERR_A", "connection refused"),
        ("transient", "ERR_A", "connection reset"),
        ("transient", "ERR_B", "connection refused"),
        ("permanent", "ERR_A", "connection refused"),
        ("transient", "ERR_Aconnection", "refused"),
    ]
    assert len({fingerprint_of(*failure) for failure in failures}) == len(failures)


def test_a_fingerprint_stays_the_same_from_release_to_release() -> None:
    assert fingerprint_of("transient", "ValueError", "file a.py line 3") == "fad9955e83115"


WORDS = st.lists(st.text(ascii_lowercase, min_size=1, max_size=8), max_size=5).map(" ".join)
AT_HAND = st.one_of(
    st.integers().map(str),
    st.floats(allow_nan=False, allow_infinity=False, width=32).map(str),
    st.uuids().map(str),
    st.ip_addresses().map(str),
    st.datetimes().map(lambda moment: moment.isoformat()),
    st.text("abc/._").map(lambda path: f"/x{path}"),
    st.text(st.characters(exclude_characters="'", categories=["L", "Nd", "Zs", "Po"])).map(lambda text: f"'{text}'"),
)


@given(before=WORDS, after=WORDS, one=AT_HAND, other=AT_HAND)
def test_whatever_is_at_hand_the_pattern_is_the_same(before: str, after: str, one: str, other: str) -> None:
    assert pattern_of(f"{before} {one} {after}") == pattern_of(f"{before} {other} {after}")


@given(st.text())
def test_any_message_has_a_pattern_without_numbers(message: str) -> None:
    pattern = pattern_of(message)
    assert len(pattern) <= LONGEST_PATTERN
    assert not any(letter.isdecimal() for letter in pattern)
    assert re.fullmatch("f[0-9a-f]{12}", fingerprint_of("infra", "ERR_X", message))


@pytest.mark.parametrize(
    "piece", ["1.", "1:", "'", '"', "a", "9", "/", "a.", "a:", "0x", "-", "x@", "::", "'a", "a/", "\\", "f'"]
)
def test_a_message_that_goes_on_for_ever_is_bounded(piece: str) -> None:
    assert len(pattern_of(piece * 100_000)) <= LONGEST_PATTERN
