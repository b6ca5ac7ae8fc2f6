"""What a terminal is given of a text from outside: its letters, and nothing that it would obey."""

from __future__ import annotations

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.observe.terminal import in_a_line, in_json, in_lines

DIRECTIONS = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("日本 🙂 é", "日本 🙂 é"),
        ("a\x1b[2Jb\r\nc\x07\x9b1m", "ab c 1m"),
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07text", " ]0;title text"),
        ("a\u202egpj.exe", "agpj.exe"),
        ("a\ud800b", "a\ufffdb"),
        ("a\x1b[", "a"),
        ("one\u2028two\x85three", "one two three"),
    ],
)
def test_a_text_in_a_line_is_its_letters(text: str, shown: str) -> None:
    assert in_a_line(text) == shown


def test_lines_keep_their_breaks_and_nothing_writes_over_them() -> None:
    assert in_lines("a\tb\nc\r\nd\re\x1b[2Kf\x08") == "a\tb\nc\nd\nef "


@given(st.text(st.characters() | st.sampled_from("\x1b[]\x9b\r\n" + DIRECTIONS)))
def test_nothing_is_left_that_a_terminal_obeys(text: str) -> None:
    for shown, allowed in ((in_a_line(text), ""), (in_lines(text), "\n\t")):
        left = {letter for letter in shown if unicodedata.category(letter) in ("Cc", "Cs", "Zl", "Zp")}
        assert not (left | (set(shown) & set(DIRECTIONS))) - set(allowed)
        shown.encode()


@given(st.recursive(st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
def test_a_document_means_the_same_afterwards(value: object) -> None:
    document = json.dumps(value, ensure_ascii=False, indent=2)
    assert json.loads(in_json(document)) == value
    assert not set(in_json(document)) & set(DIRECTIONS + "\x7f\x85\x9b\u2028")
