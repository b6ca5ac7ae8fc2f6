"""What is refused before anything is stored, and what is not."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from holdfast.core.errors import InvalidInput, InvalidPayload
from holdfast.core.limits import (
    MAX_DEPTH,
    MAX_NAME,
    MAX_PAYLOAD,
    check_int,
    check_label,
    check_moment,
    check_name,
    check_payload,
    shown,
)
from holdfast.core.timing import FAR_FUTURE


@pytest.mark.parametrize("name", ["a", "A9", "_x", "app.tasks:index", "a/b", "f.<locals>.g", "a-b", "x" * MAX_NAME])
def test_a_good_name_is_accepted(name: str) -> None:
    assert check_name("task", name) == name


@pytest.mark.parametrize(
    "name", ["", " ", "a b", "-a", ".a", ":a", "/a", "é", "a\n", "a\0", "a'b", 'a"b', "a%", "x" * 201, None, 5, b"a"]
)
def test_a_bad_name_is_refused(name: object) -> None:
    with pytest.raises(InvalidInput, match=r"queue .* is not a valid name"):
        check_name("queue", name)


@pytest.mark.parametrize("label", ["a", "with space", "é", "日本", "🙂", "a::b::c d", "%_'\"", "x" * MAX_NAME])
def test_a_good_label_is_accepted(label: str) -> None:
    assert check_label("tag", label) == label


@pytest.mark.parametrize("label", ["", "a\0b", "a\nb", "\t", "a\x7f", "\ud800", "x" * 201, None, 5])
def test_a_bad_label_is_refused(label: object) -> None:
    with pytest.raises(InvalidInput, match=r"tag .* is not valid"):
        check_label("tag", label)


@given(st.integers(-10, 10))
def test_a_number_within_its_bounds_is_accepted(value: int) -> None:
    if -3 <= value <= 4:
        assert check_int("priority", value, -3, 4) == value
    else:
        with pytest.raises(InvalidInput, match="from -3 to 4"):
            check_int("priority", value, -3, 4)


@pytest.mark.parametrize("value", [True, False, 1.0, "1", None])
def test_what_is_no_whole_number_is_refused(value: object) -> None:
    with pytest.raises(InvalidInput):
        check_int("priority", value, 0, 10)


def test_moments_have_bounds() -> None:
    assert (check_moment("it", 0), check_moment("it", FAR_FUTURE)) == (0, FAR_FUTURE)
    for value in (-1, FAR_FUTURE + 1):
        with pytest.raises(InvalidInput, match="out of range"):
            check_moment("it", value)


def depth(value: object) -> int:
    """The naive way."""
    if isinstance(value, dict):
        return 1 + max(map(depth, value.values()), default=0)
    if isinstance(value, list):
        return 1 + max(map(depth, value), default=0)
    return 0


awkward = st.text('[]{}"\\a', max_size=6)
documents: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.integers() | awkward,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(awkward, inner, max_size=4),
    max_leaves=30,
)


@given(documents, st.integers(0, MAX_DEPTH + 4), st.booleans())
@example([], MAX_DEPTH - 1, False)
@example([], MAX_DEPTH, False)
@example(["[" * 40, {"{" * 40: "]"}], 0, False)
def test_a_payload_is_refused_if_and_only_if_it_is_too_deep(document: Any, wraps: int, in_lists: bool) -> None:
    for _ in range(wraps):
        document = [document] if in_lists else {"k": document}
    encoded = json.dumps(document).encode()
    if depth(document) <= MAX_DEPTH:
        check_payload(encoded, "the payload")
    else:
        with pytest.raises(InvalidPayload, match="nested deeper"):
            check_payload(encoded, "the payload")


def test_a_payload_up_to_the_limit_is_accepted() -> None:
    check_payload(b'"' + b"x" * (MAX_PAYLOAD - 2) + b'"', "the payload")
    with pytest.raises(InvalidPayload, match="1048577 bytes"):
        check_payload(b'"' + b"x" * (MAX_PAYLOAD - 1) + b'"', "the payload")


def test_the_limit_can_be_another_one() -> None:
    check_payload(b"12345", "the checkpoint", 5)
    with pytest.raises(InvalidPayload, match="the checkpoint is 6 bytes"):
        check_payload(b"123456", "the checkpoint", 5)


@given(st.text())
def test_a_value_is_shown_quoted_and_cut(value: str) -> None:
    text = shown(value)
    assert len(text) <= 80
    assert text == repr(value) or text.endswith("…")


def test_a_value_that_cannot_be_shown_does_not_hide_the_message() -> None:
    class Shy:
        def __repr__(self) -> str:
            raise RuntimeError

    with pytest.raises(InvalidInput, match="a Shy that cannot be shown"):
        check_name("task", Shy())
