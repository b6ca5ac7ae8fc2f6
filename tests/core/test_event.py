"""A key is found by exactly those events that its owner waits for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.core.errors import InvalidInput
from holdfast.core.rules.limits import LONGEST_ATTRIBUTE, LONGEST_VALUE, MOST_ATTRIBUTES
from holdfast.core.rules.value_rules import PATTERN
from holdfast.core.values.event import check_attributes, keys_for, matches, patterns_for, shape_of

NAMES = st.text("ab.:", min_size=1, max_size=5).map(lambda text: f"n{text}")
PATTERNS = st.one_of(NAMES, NAMES.map(lambda name: f"{name}*"), st.just("*"))
VALUES = st.dictionaries(st.sampled_from("xyz"), st.sampled_from(["1", "2", '"', "{}"]), max_size=3)


@given(PATTERNS, NAMES)
def test_the_patterns_of_a_name_are_those_that_match_it(pattern: str, name: str) -> None:
    assert (pattern in patterns_for(name)) == matches(pattern, name)


@given(PATTERNS, VALUES, NAMES, VALUES)
def test_an_event_finds_exactly_who_waits_for_it(
    pattern: str, wanted: dict[str, str], name: str, known: dict[str, str]
) -> None:
    shape = shape_of(pattern, wanted)
    found = shape.key(wanted) in keys_for([shape], known) and pattern in patterns_for(name)
    assert found == (matches(pattern, name) and wanted.items() <= known.items())


@given(PATTERNS, VALUES, PATTERNS, VALUES)
def test_two_wishes_have_one_key_only_if_they_are_the_same(
    one: str, wanted: dict[str, str], other: str, too: dict[str, str]
) -> None:
    same = shape_of(one, wanted).key(wanted) == shape_of(other, too).key(too)
    assert same == ((one, wanted) == (other, too))


@pytest.mark.parametrize(
    "value", ["", "a**", "a*b", "*a", "a b", "-", 7, None, "a" * 201, "a" * 201 + "*", "a?", "a\n"]
)
def test_a_bad_pattern_is_refused_with_its_value(value: object) -> None:
    with pytest.raises(InvalidInput, match="event"):
        PATTERN.check("event", value)


@pytest.mark.parametrize("value", ["*", "a*", "a.b:c", "a" * 200, "a" * 200 + "*"])
def test_a_good_pattern_is_taken(value: str) -> None:
    assert PATTERN.check("event", value) == value


def test_numbers_and_yes_and_no_become_text() -> None:
    assert check_attributes({"a": 1, "b": True, "c": 0.5, "d": "x", "e": ""}) == {
        "a": "1",
        "b": "true",
        "c": "0.5",
        "d": "x",
        "e": "",
    }


@pytest.mark.parametrize("values", [{"a b": "1"}, {"a": None}, {"a": "x" * 2_000}, {"a": "\x00"}, [("a", "1")]])
def test_bad_attributes_are_refused(values: object) -> None:
    with pytest.raises(InvalidInput, match="attribute"):
        check_attributes(values)  # type: ignore[arg-type]


def test_there_are_only_so_many_attributes() -> None:
    with pytest.raises(InvalidInput, match="at most"):
        check_attributes({f"a{number}": "1" for number in range(MOST_ATTRIBUTES + 1)})


def test_a_key_is_short_enough_for_an_index_and_still_one_wish_only() -> None:
    wanted = {f"n{number}": "\u6f22" * LONGEST_VALUE for number in range(MOST_ATTRIBUTES)}
    shape = shape_of("a" * 200, wanted)
    key, other = shape.key(wanted), shape.key(wanted | {"n7": "x"})
    assert key != other
    assert max(len(found.encode()) for found in (key, other) if found) < 2_000


def test_the_name_of_an_attribute_is_not_long() -> None:
    assert check_attributes({"n" * LONGEST_ATTRIBUTE: "x"})
    with pytest.raises(InvalidInput, match="names of 1 to 60 letters"):
        check_attributes({"n" * (LONGEST_ATTRIBUTE + 1): "x"})
