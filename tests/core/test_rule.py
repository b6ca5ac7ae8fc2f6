"""A rule is one set of facts: Python and msgspec allow the same values, and the words are the same."""

from __future__ import annotations

import re
from typing import Annotated, Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.core.errors import InvalidInput
from holdfast.core.rules.limits import MAX_NAME
from holdfast.core.rules.number_rules import Number, Whole
from holdfast.core.rules.rule import Rule
from holdfast.core.rules.text_rules import Text
from holdfast.core.rules.value_rules import GENERATION, LABEL, NAME, PRIORITY, REASON, SUBJECT
from holdfast.core.settings.rule_table import RULES, URL, check, without_user

TEXTS = {rule.says: rule for rule in RULES.values() if isinstance(rule, Text)}
WHOLES = {rule.says: rule for rule in RULES.values() if isinstance(rule, Whole) and not isinstance(rule, Number)}
awkward = st.text(st.sampled_from("aZ09_.:/<>-* \n\t\0\x7fé🙂f{}"), max_size=40) | st.text(max_size=40)


def msgspec_allows(kind: Any, rule: Rule, value: object) -> bool:
    try:
        msgspec.json.decode(msgspec.json.encode(value), type=Annotated[kind, rule.meta])
    except msgspec.ValidationError:
        return False
    return True


@pytest.mark.parametrize("rule", TEXTS.values(), ids=TEXTS)
@given(text=awkward, times=st.sampled_from([1, 1, 1, 7, 300]))
def test_python_and_http_allow_the_same_texts(rule: Text, text: str, times: int) -> None:
    assert rule.allows(text * times) == msgspec_allows(str, rule, text * times)


@pytest.mark.parametrize("rule", WHOLES.values(), ids=WHOLES)
def test_python_and_http_have_the_same_bounds(rule: Whole) -> None:
    for value in (rule.low - 1, rule.low, rule.high, rule.high + 1):
        assert rule.allows(value) == (rule.low <= value <= rule.high)
        if abs(value) < 2**63:
            assert rule.allows(value) == msgspec_allows(int, rule, value)


@pytest.mark.parametrize("name", ["a", "A9", "_x", "app.tasks:index", "a/b", "f.<locals>.g", "a-b", "x" * MAX_NAME])
def test_a_good_name_is_accepted(name: str) -> None:
    assert NAME.check("task", name) == name


@pytest.mark.parametrize(
    "name", ["", " ", "a b", "-a", ".a", ":a", "/a", "é", "a\n", "a\0", "a'b", 'a"b', "a%", "x" * 201, None, 5, b"a"]
)
def test_a_bad_name_is_refused(name: object) -> None:
    with pytest.raises(InvalidInput, match=r"queue .* is not valid: use 1 to 200 letters, digits and _ . : / -$"):
        NAME.check("queue", name)


@pytest.mark.parametrize("label", ["a", "with space", "é", "日本", "🙂", "a::b::c d", "%_'\"", "x" * MAX_NAME])
def test_a_good_label_is_accepted(label: str) -> None:
    assert LABEL.check("tag", label) == label


@pytest.mark.parametrize("label", ["", "a\0b", "a\nb", "\t", "a\x7f", "\ud800", "x" * 201, None, 5])
def test_a_bad_label_is_refused(label: object) -> None:
    with pytest.raises(InvalidInput, match=r"tag .* is not valid: use 1 to 200 characters without control characters$"):
        LABEL.check("tag", label)


@given(st.integers(-10, 10))
def test_a_number_within_its_bounds_is_accepted(value: int) -> None:
    rule = Whole(-3, 4)
    if -3 <= value <= 4:
        assert rule.check("priority", value) == value
    else:
        with pytest.raises(InvalidInput, match="use a whole number from -3 to 4"):
            rule.check("priority", value)


@pytest.mark.parametrize("value", [True, False, 1.0, "1", None])
def test_what_is_no_whole_number_is_refused(value: object) -> None:
    with pytest.raises(InvalidInput):
        Whole(0, 10).check("priority", value)


@pytest.mark.parametrize("value", [True, float("nan"), "1", None, -0.1, 1.1])
def test_what_is_no_number_is_refused(value: object) -> None:
    assert not Number(0, 1).allows(value)
    assert Number(0, 1).allows(0.5)


def test_a_field_is_checked_by_its_rule_and_named_by_the_caller() -> None:
    assert check("priority", 5) == 5
    with pytest.raises(InvalidInput, match=r"^--priority 5000000 is not valid: use a whole number from -1000000 to"):
        check("priority", 5_000_000, "--priority")


@pytest.mark.parametrize(
    ("field", "rule"),
    [("priority", PRIORITY), ("generation", GENERATION), ("subject", SUBJECT), ("reason", REASON), ("queue", NAME)],
)
def test_the_table_has_the_rule_of_a_field(field: str, rule: Rule) -> None:
    assert RULES[field] is rule


@pytest.mark.parametrize("value", [{}, {"a": 1}, "{}", '{"a": [1]}'])
def test_a_payload_is_an_object_or_its_text(value: object) -> None:
    assert RULES["payload"].allows(value)


@pytest.mark.parametrize("value", ["", "[]", "{", [], 5, None, "[" * 5_000])
def test_what_is_no_object_is_no_payload(value: object) -> None:
    assert not RULES["payload"].allows(value)


@pytest.mark.parametrize(("value", "allowed"), [("abc", True), (5, True), (0, False), ("a\n", False), (2**63, False)])
def test_a_job_is_named_by_its_id_or_its_number(value: object, allowed: bool) -> None:
    assert RULES["job_id"].allows(value) == allowed


def test_a_word_is_one_of_those_that_there_are() -> None:
    assert RULES["NewWatch.kind"].allows("git")
    with pytest.raises(InvalidInput, match=r"^kind 'svn' is not valid: use one of 'folder', 'git'$"):
        check("NewWatch.kind", "svn", "kind")


@pytest.mark.parametrize(
    ("typed", "shown"),
    [
        ("https://ann:hush@hooks.example/x y", "https://***@hooks.example/x y"),
        ("ann:hush@hooks.example", "***@hooks.example"),
        ("https://a//b:c@d@e ", "https://***@e "),
        ("ftp://hooks.example", "ftp://hooks.example"),
    ],
)
def test_an_address_that_is_refused_is_shown_without_its_password(typed: str, shown: str) -> None:
    assert without_user(typed) == shown
    with pytest.raises(InvalidInput, match=f"^url '{re.escape(shown)}' is not valid: "):
        URL.check("url", typed)
