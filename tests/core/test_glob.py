"""No pattern and no path, however hostile, takes more steps than the product of their lengths."""

from __future__ import annotations

from typing import Any, SupportsIndex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.core.values.glob import Pattern, matcher
from holdfast.core.watching.ignore_rules import IgnoreRules


class Counted(str):
    """A text that counts how often one of its letters is looked at; its parts count together with it."""

    looks: list[int]

    def counting(self, looks: list[int]) -> Counted:
        self.looks = looks
        return self

    def __getitem__(self, key: SupportsIndex | slice) -> Any:
        if isinstance(key, slice):
            return Counted(str.__getitem__(self, key)).counting(self.looks)
        self.looks[0] += 1
        return str.__getitem__(self, key)

    def split(self, *words: Any) -> Any:
        return [Counted(part).counting(self.looks) for part in str.split(self, *words)]

    def startswith(self, text: Any, *more: Any) -> bool:
        self.looks[0] += len(text)
        return str.startswith(self, text, *more)

    def endswith(self, text: Any, *more: Any) -> bool:
        self.looks[0] += len(text)
        return str.endswith(self, text, *more)

    def __eq__(self, other: object) -> bool:
        self.looks[0] += len(self)
        return str.__eq__(self, other)

    __hash__ = str.__hash__


def steps(pattern: str, path: str) -> int:
    looks = [0]
    counted = Counted(path).counting(looks)
    Pattern(pattern).matches(counted, counted[counted.rfind("/") + 1 :])
    return looks[0]


HOSTILE = [
    ("*a" * 14 + "*b", "a" * 255),
    ("*" * 200 + "?b", "a" * 255),
    ("*?" * 100 + "b", "a" * 255),
    ("*[ab]" * 50 + "c", "ab" * 127),
    ("**/" * 60 + "b", "a/" * 500 + "a"),
    ("/**/a*a*a*b" * 20, "/".join(["a" * 200] * 20)),
    ("**/a/" * 30 + "b", "a/" * 500 + "a"),
    ("x/" + "*a" * 100 + "/b", "x/" + "a" * 255),
    ("a" * 200 + "*b", "a" * 255),
]


@pytest.mark.parametrize(("pattern", "path"), HOSTILE)
def test_a_hostile_pattern_takes_few_steps(pattern: str, path: str) -> None:
    assert 0 < steps(pattern, path) <= len(pattern) * len(path)


@given(
    st.text("ab*?/[]!-\\", min_size=1, max_size=60),
    st.text("ab/", min_size=1, max_size=200).filter(lambda path: not path.endswith("/")),
)
def test_no_pattern_takes_more_steps_than_the_product_of_the_lengths(pattern: str, path: str) -> None:
    assert steps(pattern, path) <= len(pattern) * len(path)


def test_a_pattern_full_of_brackets_is_read_once() -> None:
    # Searched to its end for each "[:", this would take minutes.
    assert not matcher(["[" + "[:" * 100_000 + "x]"])("a")
    assert not matcher(["[" * 200_000])("a")


def test_many_names_are_not_tried_one_by_one() -> None:
    tries: list[None] = []
    rules = IgnoreRules([*(f"name-{number}" for number in range(10_000)), "*.log"])
    assert rules.verdict("deep/name-77", False, lambda: tries.append(None))
    assert rules.verdict("deep/other", False, lambda: tries.append(None)) is None
    assert len(tries) == 2
