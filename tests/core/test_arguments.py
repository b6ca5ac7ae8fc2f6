"""What the store refuses by a task's schema, the worker would refuse by its type hints."""

from __future__ import annotations

import enum
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Annotated, Any, Literal
from uuid import UUID

import msgspec
import pytest

from holdfast.core.values.arguments import is_readable, misfit
from holdfast.core.values.filling import MARK
from holdfast.tasks.schema import PayloadSchema


class Colour(enum.Enum):
    RED = "red"


class Level(enum.IntEnum):
    LOW = 1


class Point(msgspec.Struct):
    x: int
    next: Point | None = None


class Pair(msgspec.Struct, array_like=True):
    a: int
    b: int


HINTS: list[Any] = [
    Any,
    None,
    bool,
    int,
    float,
    str,
    bytes,
    Decimal,
    UUID,
    datetime,
    date,
    timedelta,
    list[int],
    tuple[int, ...],
    set[str],
    dict[str, int],
    Colour,
    Level,
    Literal["a", 1, None],
    Point,
    Pair,
    Point | list[int] | None,
    int | str,
    Annotated[int, msgspec.Meta(ge=0)],
    msgspec.Raw,
    complex,
]
VALUES: list[Any] = [
    None,
    True,
    0,
    1,
    1.0,
    1.5,
    10**30,
    "",
    "a",
    "red",
    "1.5",
    "aGk=",
    "2030-01-31",
    "2030-01-31T18:30:00Z",
    "P1D",
    "1fb1f5a2-1c8a-4b0e-9c2d-0a1b2c3d4e5f",
    [],
    [1, 2],
    ["a"],
    {},
    {"x": 1},
    {"x": 1, "next": {"x": 2}},
]


def schema_of(hint: Any, *, optional: bool = False) -> PayloadSchema:
    def takes(value: Any) -> None: ...

    takes.__annotations__["value"] = hint
    if optional:
        takes.__defaults__ = (None,)
    return PayloadSchema("takes", takes, skip_first=False)


@pytest.mark.parametrize("hint", HINTS, ids=str)
def test_whatever_a_worker_takes_is_let_through(hint: Any) -> None:
    schema = schema_of(hint)
    described = msgspec.json.decode(msgspec.json.encode(schema.describe()))
    for value in VALUES:
        try:
            schema.decode(msgspec.json.encode({"value": value}).decode())
        except Exception:
            continue
        assert misfit(described, {"value": value}) is None, value


@pytest.mark.parametrize(
    ("hint", "value"),
    [
        (int, "1"),
        (int, 1.5),
        (int, True),
        (str, 1),
        (bool, 0),
        (list[int], {}),
        (dict[str, int], []),
        (Point, 1),
        (Colour, 1),
        (Level, "low"),
        (Literal["a"], 5),
        (datetime, 5),
        (int | None, "x"),
    ],
    ids=str,
)
def test_a_value_of_another_kind_is_refused(hint: Any, value: Any) -> None:
    said = misfit(schema_of(hint).describe(), {"value": value})
    assert said is not None
    assert said.startswith("argument 'value' takes ")
    assert misfit(schema_of(hint).describe(), {"value": MARK}) is None, "it is filled when the run starts"


def test_names_and_needed_arguments_are_checked() -> None:
    needed, optional = schema_of(int).describe(), schema_of(int, optional=True).describe()
    assert misfit(needed, {}) == "argument 'value' is missing"
    assert misfit(needed, {}, in_part=True) is None
    assert misfit(optional, {}) is None
    assert misfit(needed, {"value": 1, "other": 2}) == "it has no argument 'other'; it takes value"


def test_a_task_that_takes_anything_takes_any_name() -> None:
    def takes(value: int, **rest: Any) -> None: ...

    described = PayloadSchema("takes", takes, skip_first=False).describe()
    assert misfit(described, {"value": 1, "other": 2}) is None
    assert misfit(described, {"other": 2}) == "argument 'value' is missing"


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"properties": {"value": {"$ref": "#/$defs/none"}}},
        {"properties": {"value": {"$ref": "#/$defs/a"}}, "$defs": {"a": {"$ref": "#/$defs/a"}}},
        {"properties": {"value": {"anyOf": [{}, {"type": "string"}]}}},
        {"properties": {"value": {"anyOf": []}}},
    ],
    ids=str,
)
def test_what_a_schema_does_not_tell_is_let_through(schema: dict[str, Any]) -> None:
    assert is_readable(schema)
    assert misfit(schema, {"value": 1}) is None


def test_shapes_that_are_in_each_other_many_times_are_read_once() -> None:
    shapes: dict[str, Any] = {f"s{n}": {"anyOf": [{"$ref": f"#/$defs/s{n + 1}"}] * 100} for n in range(30)}
    schema = {"properties": {"value": {"$ref": "#/$defs/s0"}}, "$defs": {**shapes, "s30": {"type": "string"}}}
    assert misfit(schema, {"value": 1}) == "argument 'value' takes string, not integer"


@pytest.mark.parametrize(
    "schema",
    [{"properties": 5}, {"properties": {"value": 7}}, {"required": 5}, {"required": [5]}, {"$defs": []}],
    ids=str,
)
def test_what_is_no_schema_of_an_object_is_recognised(schema: dict[str, Any]) -> None:
    assert not is_readable(schema)


def test_what_is_no_object_is_said_so_and_a_task_that_nobody_knows_takes_anything() -> None:
    assert misfit({"type": "object", "properties": {}}, []) == "it is no object with the arguments by name"  # type: ignore[arg-type]
    assert misfit({}, []) is None  # type: ignore[arg-type]
