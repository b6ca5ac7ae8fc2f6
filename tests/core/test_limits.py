"""What is refused before anything is stored, and what is not."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from holdfast.core.errors import InvalidInput, InvalidPayload
from holdfast.core.rules.limits import (
    MAX_DEPTH,
    MAX_PAYLOAD,
    check_payload,
    shown,
)
from holdfast.core.rules.value_rules import NAME


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
        NAME.check("task", Shy())
