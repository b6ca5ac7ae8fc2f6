"""How a value of an event is compared with a constant.

Data are JSON: values of different kinds differ, and have no order. Attributes are texts: for a constant that is a
number, or True or False, they are read as one. What is missing, or cannot be read so, fits no comparison.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from enum import StrEnum
from math import isfinite
from typing import Any, Final

from holdfast.core.rules import limits, rule

MISSING: Final = object()

# As programs and people write numbers. `inf` is how a float is written that is larger than all others.
_NUMBER = re.compile(r"[+-]?(?:(?:\d+(\.\d*)?|(\.\d+))([eE][+-]?\d+)?|(inf))", re.ASCII)
_FLAGS = {"true": True, "false": False}
_CONSTANTS = "a text, a number that is finite, True, False, None, or a list or dict of these"


class Comparator(StrEnum):
    """How two values are compared. IN: the value equals one of several constants."""

    EQUAL = "=="
    UNEQUAL = "!="
    LESS = "<"
    AT_MOST = "<="
    MORE = ">"
    AT_LEAST = ">="
    IN = "in"

    @property
    def needs_order(self) -> bool:
        """Whether it asks which of two values is larger."""
        return self in _ORDERS


_ORDERS: Mapping[Comparator, Callable[[Any, Any], bool]] = {
    Comparator.LESS: operator.lt,
    Comparator.AT_MOST: operator.le,
    Comparator.MORE: operator.gt,
    Comparator.AT_LEAST: operator.ge,
}


def check_constant(what: str, value: object) -> Any:
    """The value as plain JSON that nobody else can change, or InvalidInput."""
    try:
        return _plain(value)
    except (TypeError, ValueError, RecursionError):
        raise rule.refusal(what, value, _CONSTANTS) from None


def fits_data(value: object, comparator: Comparator, constant: Any) -> bool:
    """Whether a value of JSON, or MISSING, fits the comparison."""
    if value is MISSING:
        return False
    if comparator.needs_order:
        return _have_order(value, constant) and _ORDERS[comparator](value, constant)
    if comparator is Comparator.IN:
        return any(is_same(value, one) for one in constant)
    return is_same(value, constant) is (comparator is Comparator.EQUAL)


def fits_attribute(text: object, comparator: Comparator, constant: Any) -> bool:
    """Whether the text of an attribute, or MISSING, fits the comparison."""
    if comparator is Comparator.IN:
        return any(fits_attribute(text, Comparator.EQUAL, one) for one in constant)
    return fits_data(_read_as(text, constant), comparator, constant)


def is_same(one: Any, other: Any) -> bool:
    """Whether two values are the same in JSON: 1 and 1.0 are, 1 and True are not."""
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(is_same, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(is_same(value, other[key]) for key, value in one.items())
    return isinstance(one, bool) is isinstance(other, bool) and bool(one == other)


def read_path(data: object, path: tuple[str, ...]) -> object:
    """What stands in the data at a path of keys, and of numbers of items in lists. Otherwise MISSING."""
    for part in path:
        if isinstance(data, dict) and part in data:
            data = data[part]
        elif isinstance(data, list) and _is_index(part) and int(part) < len(data):
            data = data[int(part)]
        else:
            return MISSING
    return data


def _is_index(part: str) -> bool:
    return part.isascii() and part.isdigit() and len(part) < 10


def _read_as(text: object, constant: object) -> object:
    """The text as what it is compared with, or MISSING."""
    if not isinstance(text, str) or not isinstance(constant, bool | int | float):
        return text
    return _FLAGS.get(text, MISSING) if isinstance(constant, bool) else _number(text)


def _number(text: str) -> object:
    match = _NUMBER.fullmatch(text)
    if match is None:
        return MISSING
    try:
        # As an int it is exact, however large.
        return float(text) if any(match.groups()) else int(text)
    except ValueError:
        return MISSING  # It has thousands of digits.


def _have_order(one: object, other: object) -> bool:
    return (isinstance(one, str) and isinstance(other, str)) or (_is_number(one) and _is_number(other))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _plain(value: object) -> Any:
    match value:
        case None | bool():
            return value
        case str():
            # The member of an enum is shown as its text, too.
            return str.__str__(value)
        case int():
            return int(value)
        case float() if isfinite(value):
            return float(value)
        case list() | tuple():
            return [_plain(one) for one in value]
        case dict() if all(isinstance(key, str) for key in value):
            return {str.__str__(key): _plain(one) for key, one in value.items()}
    raise TypeError(limits.shown(value))
