"""Which events a predicate wants, and that it is printed as it was written."""

from __future__ import annotations

import doctest
import functools
import operator
from enum import StrEnum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.core.apps import predicates
from holdfast.core.apps.predicates import LONGEST_DESCRIPTION, P, Predicate, describe
from holdfast.core.errors import InvalidInput
from holdfast.core.values.event import Event


def event(data: Any = None, **attributes: str) -> Event:
    return Event(id="e", name="light", attributes=attributes, emitted_at=0, data=data)


class Light(StrEnum):
    ON = "on"


# Attributes.


def test_an_attribute_is_compared_as_a_text() -> None:
    assert (P.attr("new") == "on")(event(new="on"))
    assert (P.attr("new") != "on")(event(new="off"))
    assert (P.attr("new") < "b")(event(new="a"))
    assert not (P.attr("new") < "b")(event(new="c"))


@pytest.mark.parametrize("compare", [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge])
@pytest.mark.parametrize("constant", ["x", 5, 0.5])
def test_what_is_missing_fits_no_comparison(compare: Any, constant: Any) -> None:
    assert not compare(P.attr("new"), constant)(event())
    assert not compare(P.data("a.b"), constant)(event({"a": {}}))
    assert not compare(P.data("a.b"), constant)(event())


def test_what_is_missing_fits_the_negation_of_a_comparison() -> None:
    assert (~(P.attr("x") == "y"))(event())


@pytest.mark.parametrize(
    ("text", "fits"), [("21", True), ("20.5", True), ("2e3", True), ("+21", True), ("inf", True), ("20", False)]
)
def test_an_attribute_is_read_as_a_number_to_compare_it_with_one(text: str, fits: bool) -> None:
    assert (P.attr("n") > 20)(event(n=text)) is fits
    assert (P.attr("n") <= 20)(event(n=text)) is not fits


@pytest.mark.parametrize("text", ["", "warm", " 5", "5 ", "1_0", "٣", "nan", "0x5", "--5", ".", "true", "9" * 5_000])
@pytest.mark.parametrize("compare", [operator.eq, operator.ne, operator.lt, operator.ge])
def test_a_text_that_is_no_number_fits_no_comparison_with_one(compare: Any, text: str) -> None:
    assert not compare(P.attr("n"), 5)(event(n=text))


def test_large_whole_numbers_are_compared_exactly() -> None:
    assert (P.attr("n") == 2**60 + 1)(event(n=str(2**60 + 1)))
    assert not (P.attr("n") == 2**60)(event(n=str(2**60 + 1)))


@pytest.mark.parametrize("number", [0.1, -2.5, 1e-7, 1e22, 3.0, -0.0])
def test_a_number_equals_the_attribute_that_was_made_of_it(number: float) -> None:
    assert (P.attr("n") == number)(event(n=str(number)))


def test_an_attribute_is_read_as_true_or_false_to_compare_it_with_them() -> None:
    assert (P.attr("ok") == True)(event(ok="true"))  # noqa: E712
    assert (P.attr("ok") != True)(event(ok="false"))  # noqa: E712
    assert not (P.attr("ok") == True)(event(ok="1"))  # noqa: E712
    assert not (P.attr("ok") != True)(event(ok="1"))  # noqa: E712


def test_an_attribute_is_one_of_several_values() -> None:
    wanted = P.attr("x").in_(["on", 5, True])
    assert [wanted(event(x=text)) for text in ("on", "5.0", "true", "off")] == [True, True, True, False]
    assert not wanted(event())
    assert not P.attr("x").in_([])(event(x="on"))


def test_an_attribute_exists_or_not() -> None:
    assert P.attr("x").exists()(event(x=""))
    assert not P.attr("x").exists()(event())


# Data.


def test_a_path_leads_through_objects_and_lists() -> None:
    data = {"files": [{"size": 7}, {"size": 9}], "0": "zero"}
    assert (P.data("files.1.size") == 9)(event(data))
    assert (P.data("0") == "zero")(event(data))
    for path in ("files.2.size", "files.-1.size", "files.one", "files.1.size.x", "files.²", "nothing"):
        assert not P.data(path).exists()(event(data))


def test_the_data_may_be_one_value() -> None:
    assert (P.data() == "red")(event("red"))
    assert not P.data().exists()(event())


def test_null_exists_and_equals_none() -> None:
    assert P.data("a").exists()(event({"a": None}))
    assert (P.data("a") == None)(event({"a": None}))  # noqa: E711
    assert not (P.data("b") == None)(event({"a": None}))  # noqa: E711


def test_values_of_different_kinds_differ_and_have_no_order() -> None:
    assert (P.data("a") != 5)(event({"a": "5"}))
    assert not (P.data("a") == 1)(event({"a": True}))
    assert not (P.data("a") < 5)(event({"a": True}))
    assert not (P.data("a") < "b")(event({"a": 1}))
    assert not (P.data("a") >= 5)(event({"a": [9]}))


def test_lists_and_objects_are_compared_as_a_whole() -> None:
    assert (P.data("a") == (1, {"b": None}))(event({"a": [1.0, {"b": None}]}))
    assert (P.data("a") == [1])(event({"a": [1]}))
    assert (P.data("a") != [1])(event({"a": [True]}))


def test_a_value_of_the_data_is_one_of_several() -> None:
    assert P.data("a").in_({5})(event({"a": 5}))
    assert not P.data("a").in_([5, "x"])(event({"a": "5"}))


def test_a_constant_cannot_be_changed_later() -> None:
    constant = [1]
    wanted = P.data("a") == constant
    constant.append(2)
    assert wanted(event({"a": [1]}))


# How predicates are joined.


def test_predicates_are_joined() -> None:
    wanted = (P.attr("a") == "1") & ((P.attr("b") == "2") | ~P.attr("c").exists())
    assert wanted(event(a="1", b="2", c="3"))
    assert wanted(event(a="1"))
    assert not wanted(event(a="1", c="3"))


def test_the_value_may_stand_first() -> None:
    assert (5 < P.attr("n")) == (P.attr("n") > 5)  # noqa: SIM300
    assert repr("on" == P.attr("n")) == repr(P.attr("n") == "on")  # noqa: SIM300


@pytest.mark.parametrize(
    "ask",
    [
        lambda: (P.attr("a") == "1") and (P.attr("b") == "2"),
        lambda: (P.attr("a") == "1") or (P.attr("b") == "2"),
        lambda: not P.attr("a").exists(),
        lambda: 1 < P.attr("a") < 5,
        lambda: bool(P.attr("a").exists() & P.attr("b").exists()),
    ],
)
def test_a_predicate_is_neither_true_nor_false(ask: Any) -> None:
    with pytest.raises(TypeError, match=r"use & and \|, not and/or, and ~ for not$"):
        ask()


def test_a_field_is_neither_true_nor_false() -> None:
    with pytest.raises(TypeError, match=r"^P.attr\('a'\) is neither .*: compare it with a value, or use exists\(\)$"):
        bool(P.attr("a"))


@pytest.mark.parametrize(
    "write",
    [
        lambda: P.attr("a") == 1 & P.attr("b") == 2,
        lambda: P.attr("a") == "1" | P.attr("b") == "2",
        lambda: P.attr("a") & P.attr("b"),
    ],
)
def test_forgotten_parentheses_are_named(write: Any) -> None:
    with pytest.raises(TypeError, match="put each comparison in parentheses"):
        write()


def test_a_function_is_not_joined_with_a_predicate() -> None:
    with pytest.raises(TypeError):
        (P.attr("a") == "1") & (lambda event: True)  # type: ignore[operator]


# What is refused.


@pytest.mark.parametrize(
    ("write", "says"),
    [
        (lambda: P.attr(""), "attribute '' is not valid: use 1 to 60 letters"),
        (lambda: P.attr(5), "attribute 5 is not valid"),  # type: ignore[arg-type]
        (lambda: P.data(""), "data '' is not valid: use a path"),
        (lambda: P.data("a..b"), "data 'a..b' is not valid: use a path"),
        (lambda: P.data(5), "data 5 is not valid: use a path"),  # type: ignore[arg-type]
        (lambda: P.attr("a") == None, r"P.attr\('a'\) == None is not valid: .*exists\(\)"),  # noqa: E711
        (lambda: P.attr("a").in_([["x"]]), r"P.attr\('a'\).in_ \['x'\] is not valid"),
        (lambda: P.attr("a").in_("xy"), r"P.attr\('a'\).in_ 'xy' is not valid: use a list of values"),
        (lambda: P.attr("a").in_(5), r"P.attr\('a'\).in_ 5 is not valid: use a list of values"),  # type: ignore[arg-type]
        (lambda: P.attr("a") < True, r"P.attr\('a'\) < True is not valid: use a text or a number"),
        (lambda: P.data("a") < None, r"P.data\('a'\) < None is not valid: use a text or a number"),
        (
            lambda: P.data("a") == float("nan"),
            r"P.data\('a'\) == nan is not valid: use a text, a number that is finite",
        ),
        (lambda: P.data("a") == {1: 2}, r"P.data\('a'\) == {1: 2} is not valid"),
        (lambda: P.attr("a") == P.attr("b"), r"P.attr\('a'\) == P.attr\('b'\) is not valid"),
    ],
)
def test_what_can_fit_nothing_is_refused(write: Any, says: str) -> None:
    with pytest.raises(InvalidInput, match=f"^{says}"):
        write()


# How predicates are printed.


@pytest.mark.parametrize(
    ("predicate", "text"),
    [
        (P.attr("new") == Light.ON, "P.attr('new') == 'on'"),
        (P.attr("a").in_(("x", "y")), "P.attr('a').in_(['x', 'y'])"),
        ((P.attr("a") == "x") & (P.data("b.0") > 5), "(P.attr('a') == 'x') & (P.data('b.0') > 5)"),
        (~(P.attr("a") == "x"), "~(P.attr('a') == 'x')"),
        (~P.data().exists(), "~P.data().exists()"),
        (
            (P.attr("a").exists() | P.attr("b").exists()) & ~P.attr("c").exists(),
            "(P.attr('a').exists() | P.attr('b').exists()) & ~P.attr('c').exists()",
        ),
        (
            P.attr("a").exists() & (P.attr("b").exists() & P.attr("c").exists()),
            "P.attr('a').exists() & P.attr('b').exists() & P.attr('c').exists()",
        ),
    ],
)
def test_a_predicate_is_printed_as_it_was_written(predicate: Predicate, text: str) -> None:
    assert repr(predicate) == text


def test_predicates_with_the_same_meaning_are_equal_and_others_are_not() -> None:
    assert (P.data("a") == 1) == (P.data("a") == 1.0)
    assert len({P.data("a") == 1, P.data("a") == 1.0}) == 1
    assert (P.data("a") == 1) != (P.data("a") == True)  # noqa: E712
    assert (P.data("a") == [1]) != (P.data("a") == [True])
    assert (P.data("a") == 1) != (P.attr("a") == 1)
    assert ((P.attr("a") == 1) & (P.attr("b") == 1)) != ((P.attr("a") == 1) | (P.attr("b") == 1))


def test_many_predicates_are_joined_without_getting_deep() -> None:
    wanted = functools.reduce(operator.or_, [P.attr("n") == number for number in range(5_000)])
    assert wanted(event(n="4999"))
    assert repr(wanted).count(" | ") == 4_999
    assert ~wanted == ~wanted


# What is said of them.


def is_bright(event: Event) -> bool:
    return True


async def is_bright_later(event: Event) -> bool:
    return True


class Bright:
    def __call__(self, event: Event) -> bool:
        return True


def test_a_predicate_is_described_as_it_was_written() -> None:
    assert describe(P.attr("a") == "x") == "P.attr('a') == 'x'"
    assert describe(None) is None


@pytest.mark.parametrize(
    ("where", "name"),
    [
        (is_bright, "is_bright"),
        (functools.partial(is_bright), "is_bright"),
        (Bright(), "Bright"),
        (Bright().__call__, "Bright.__call__"),
        (lambda event: True, "<lambda>"),
    ],
)
def test_a_function_is_described_by_its_name(where: Any, name: str) -> None:
    assert describe(where) == f"{__name__}.{name}"


def test_a_function_that_is_built_in_is_described_too() -> None:
    assert describe({}.get) == "dict.get"


def test_a_long_description_is_cut() -> None:
    text = describe(P.attr("a") == "x" * 600)
    assert text is not None
    assert (len(text), text[-1]) == (LONGEST_DESCRIPTION, "…")


@pytest.mark.parametrize("where", ["a == 1", 5, True, P, P.attr("a"), is_bright_later, object()])
def test_what_is_neither_a_predicate_nor_a_function_is_refused(where: Any) -> None:
    with pytest.raises(InvalidInput, match=r"^where .* is not valid: use a predicate such as P.attr\('branch'\)"):
        describe(where)


def test_nobody_makes_a_p() -> None:
    with pytest.raises(TypeError, match=r"use P\.attr"):
        P()


def test_the_example_runs() -> None:
    assert doctest.testmod(predicates).attempted > 0
    assert doctest.testmod(predicates).failed == 0


# Properties.

texts = st.sampled_from(["", "on", "off", "true", "5", "5.0", "-1", "'\"\\"]) | st.text(max_size=5)
numbers = st.integers(-6, 6) | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
plain = texts | numbers | st.booleans()
json = st.recursive(
    plain | st.none(), lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3)
)
names = st.sampled_from(["a", "b", "c"])
paths = st.sampled_from([None, "a", "b", "a.b", "a.0", "b.1.a"])
equals = st.sampled_from([operator.eq, operator.ne])
orders = st.sampled_from([operator.lt, operator.le, operator.gt, operator.ge])
attributes, values = names.map(P.attr), paths.map(P.data)
simple = st.one_of(
    st.builds(lambda compare, field, value: compare(field, value), equals, attributes, plain),
    st.builds(lambda compare, field, value: compare(field, value), equals, values, json),
    st.builds(lambda compare, field, value: compare(field, value), orders, attributes | values, texts | numbers),
    st.builds(lambda field, some: field.in_(some), attributes, st.lists(plain, max_size=3)),
    st.builds(lambda field, some: field.in_(some), values, st.lists(json, max_size=3)),
    st.builds(lambda field: field.exists(), attributes | values),
)
all_predicates: st.SearchStrategy[Predicate] = st.recursive(
    simple,
    lambda inner: st.one_of(
        st.builds(operator.and_, inner, inner), st.builds(operator.or_, inner, inner), st.builds(operator.invert, inner)
    ),
    max_leaves=8,
)
events = st.builds(
    lambda attributes, data: event(data, **attributes),
    st.dictionaries(names, texts, max_size=3),
    st.dictionaries(names, json, max_size=3) | json,
)


@given(predicate=all_predicates, seen=events)
def test_a_negation_fits_whatever_the_predicate_does_not(predicate: Predicate, seen: Event) -> None:
    assert (~predicate)(seen) is not predicate(seen)
    assert (~~predicate)(seen) is predicate(seen)


@given(one=all_predicates, other=all_predicates, seen=events)
def test_the_laws_of_de_morgan_hold(one: Predicate, other: Predicate, seen: Event) -> None:
    assert (~(one & other))(seen) is (~one | ~other)(seen)
    assert (~(one | other))(seen) is (~one & ~other)(seen)


@given(one=all_predicates, other=all_predicates, seen=events)
def test_joined_predicates_fit_as_their_parts_do(one: Predicate, other: Predicate, seen: Event) -> None:
    assert (one & other)(seen) is (one(seen) and other(seen))
    assert (one | other)(seen) is (one(seen) or other(seen))


@given(predicate=all_predicates, seen=events)
def test_what_a_predicate_prints_is_an_equal_predicate(predicate: Predicate, seen: Event) -> None:
    again = eval(repr(predicate), {"P": P})
    assert again == predicate
    assert hash(again) == hash(predicate)
    assert again(seen) is predicate(seen)


@given(field=attributes | values, constant=texts | numbers, seen=events)
def test_at_most_one_of_less_equal_and_more_fits(field: Any, constant: Any, seen: Event) -> None:
    fits = [(field < constant)(seen), (field == constant)(seen), (field > constant)(seen)]
    assert sum(fits) <= 1
    assert (field <= constant)(seen) is (fits[0] or fits[1])
    assert (field >= constant)(seen) is (fits[1] or fits[2])
