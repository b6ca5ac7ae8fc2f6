"""Type hints are the schema of a payload: what fits arrives as it was, what does not is never stored."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum, IntEnum
from typing import Annotated, Any, Literal
from uuid import UUID

import msgspec
import pytest

from holdfast import Holdfast, InvalidInput, InvalidPayload, Task
from tests.client.acts import WAIT, refused


class Colour(Enum):
    RED = "red"


class Level(IntEnum):
    HIGH = 3


@dataclass
class Point:
    x: float
    y: float = 0.0


class Order(msgspec.Struct):
    number: int
    lines: list[str] = []


WHEN = datetime(2030, 1, 2, 3, 4, 5, 678901, UTC)

FITTING: list[tuple[Any, Any]] = [
    (int, -5),
    (int, 2**63),
    (int, -(2**70)),
    (float, 0.1),
    (str, "naïve ✓ \U0001f600"),
    (str, "a\x00b"),
    (str, ""),
    (bool, True),
    (bytes, b"\x00\xff"),
    (int | None, None),
    (int | None, 1),
    (list[int], [1, 2]),
    (dict[str, list[int]], {"a": [1], "\x00": []}),
    (tuple[int, str], (1, "a")),
    (set[int], {1, 2}),
    (Point, Point(1.5)),
    (list[Point], [Point(1.0, 2.0)]),
    (Order, Order(1, ["a"])),
    (Order | None, None),
    (Colour, Colour.RED),
    (Level, Level.HIGH),
    (Literal["a", "b"], "b"),
    (datetime, WHEN),
    (date, WHEN.date()),
    (timedelta, timedelta(hours=1)),
    (UUID, UUID(int=5)),
    (Decimal, Decimal("1.10")),
    (Annotated[int, msgspec.Meta(ge=0)], 0),
    (Any, {"deep": [1, None, "x", {"er": 2**64}]}),
]


@pytest.mark.parametrize(("hint", "value"), FITTING)
def test_an_argument_arrives_as_it_was_given_and_comes_back_so(hf: Holdfast, hint: Any, value: Any) -> None:
    arrived = []

    def task(x):  # type: ignore[no-untyped-def]
        arrived.append(x)
        return x

    task.__annotations__ = {"x": hint, "return": hint}
    handle = hf.task(task).enqueue(x=value)
    hf.drain()
    assert arrived == [value]
    assert type(arrived[0]) is type(value)
    assert handle.result(timeout=WAIT) == value


MISFITS: list[tuple[Any, Any, str]] = [
    (int, "1", r"Expected `int`, got `str` - at `\$\.x`"),
    (int, 1.5, "Expected `int`, got `float`"),
    (int, True, "Expected `int`, got `bool`"),
    (int, None, "Expected `int`, got `null`"),
    (bool, 1, "Expected `bool`, got `int`"),
    (str, 1, "Expected `str`, got `int`"),
    (list[int], [1, "a"], r"Expected `int`, got `str` - at `\$\.x\[1\]`"),
    (tuple[int, str], (1,), "length 2"),
    (dict[str, int], {"a": "b"}, "Expected `int`, got `str`"),
    (Point, {"y": 1.0}, "missing required field `x`"),
    (Order, {"number": "a"}, r"at `\$\.x\.number`"),
    (Colour, "green", "Invalid enum value 'green'"),
    (Literal["a", "b"], "c", "Invalid enum value 'c'"),
    (datetime, "yesterday", "Invalid RFC3339"),
    (UUID, "5", "Invalid UUID"),
    (Annotated[int, msgspec.Meta(ge=0)], -1, "Expected `int` >= 0"),
]


@pytest.mark.parametrize(("hint", "value", "message"), MISFITS)
def test_a_misfit_is_refused_before_it_is_stored(hf: Holdfast, hint: Any, value: Any, message: str) -> None:
    def task(x):  # type: ignore[no-untyped-def]
        return x

    task.__annotations__ = {"x": hint}
    with refused(hf, InvalidPayload, f"the payload does not fit task 'task': .*{message}"):
        hf.task(task).enqueue(x=value)


def nested(levels: int) -> list[Any]:
    found: list[Any] = []
    for _ in range(levels - 1):
        found = [found]
    return found


class Unprintable:
    def __repr__(self) -> str:
        raise RuntimeError


endless: list[Any] = []
endless.append(endless)

NO_JSON: list[tuple[Any, str]] = [
    (object(), "argument 'x' of task 'anything' is not JSON: <object object"),
    (lambda: 0, "argument 'x' of task 'anything' is not JSON: <function"),
    ([1, {"a": object()}], "argument 'x' of task 'anything' is not JSON"),
    ({(1, 2): 3}, "argument 'x' .*Only dicts with str-like or number-like keys"),
    (range(3), "argument 'x' of task 'anything' is not JSON"),
    ("\ud800", r"argument 'x' .*surrogates not allowed"),
    ({"\ud800": 1}, r"argument 'x' .*surrogates not allowed"),
    (10**5000, "argument 'x' of task 'anything' is not JSON: a int that cannot be shown"),
    (Unprintable(), "is not JSON: a Unprintable that cannot be shown"),
    (endless, "argument 'x' of task 'anything' is not JSON"),
    (nested(100_000), "argument 'x' of task 'anything' is not JSON"),
    (math.nan, r"argument 'x' .*JSON cannot write \(nan or infinity\)"),
    (-math.inf, r"argument 'x' .*JSON cannot write \(nan or infinity\)"),
    ([None, {"a": math.nan}], r"argument 'x' .*JSON cannot write \(nan or infinity\)"),
    (Point(1.0, math.inf), r"argument 'x' .*JSON cannot write \(nan or infinity\)"),
    (nested(32), "the payload of task 'anything' is nested deeper than 32 levels; flatten it"),
    ("x" * (1 << 20), "is 1048584 bytes of JSON; the limit is 1048576. Store big data elsewhere"),
]


@pytest.fixture
def anything(hf: Holdfast) -> Task[..., Any]:
    """A task that takes all there is."""

    @hf.task
    def anything(x: Any = None, **more: Any) -> Any:
        return {"x": x, **more}

    return anything


@pytest.mark.parametrize(("value", "message"), NO_JSON, ids=[message for _, message in NO_JSON])
def test_what_json_cannot_hold_is_refused_by_its_argument(
    hf: Holdfast, anything: Task[..., Any], value: Any, message: str
) -> None:
    with refused(hf, InvalidPayload, message):
        anything.enqueue(x=value)


def test_text_and_numbers_of_every_kind_survive_the_database(hf: Holdfast, anything: Task[..., Any]) -> None:
    values = {"x": "naïve ✓ \U0001f600 \x00 \u2028 ' \" \\ %s :name", "\x00": [2**70, -(2**63), 1e308, 5e-324, None]}
    handle = anything.enqueue(**values)
    hf.drain()
    assert handle.result(timeout=WAIT) == values


def test_the_largest_and_the_deepest_payload_pass(hf: Holdfast, anything: Task[..., Any]) -> None:
    handles = [anything.enqueue(x="x" * ((1 << 20) - len('{"x":""}'))), anything.enqueue(x=nested(31))]
    hf.drain()
    assert handles[1].result(timeout=WAIT) == {"x": nested(31)}
    assert len(handles[0].job.payload or "") == 1 << 20


def test_brackets_in_text_are_no_nesting(anything: Task[..., Any]) -> None:
    anything.enqueue(x="[" * 100 + '\\"{' * 100)


def test_arguments_may_be_given_by_place(hf: Holdfast) -> None:
    @hf.task
    def subtract(a: int, b: int, c: int = 0) -> int:
        return a - b - c

    handle = subtract.enqueue(5, 3)
    hf.drain()
    assert handle.result(timeout=WAIT) == 2
    assert handle.job.payload == '{"a":5,"b":3}'


@pytest.mark.parametrize(
    ("args", "kwargs", "message"),
    [
        ((), {}, "missing a required argument: 'a'"),
        ((1, 2, 3), {}, "too many positional arguments"),
        ((1,), {"a": 2}, "multiple values for argument 'a'"),
        ((1,), {"c": 2}, "got an unexpected keyword argument 'c'"),
    ],
)
def test_arguments_are_bound_as_in_a_call(hf: Holdfast, args: Any, kwargs: Any, message: str) -> None:
    @hf.task
    def take(a: int, b: int = 0) -> None: ...

    with refused(hf, InvalidPayload, f"the payload does not fit task 'take': {message}"):
        take.enqueue(*args, **kwargs)


def test_a_default_is_the_functions_own_when_it_runs(make_holdfast: Callable[..., Holdfast]) -> None:
    before, after = make_holdfast(), make_holdfast()
    results = []

    def version_1(x: int = 1) -> None: ...
    def version_2(x: int = 2) -> None:
        results.append(x)

    before.task(name="versioned")(version_1).enqueue()
    after.task(name="versioned")(version_2)
    after.drain()
    assert results == [2]


def test_an_argument_may_have_any_name(hf: Holdfast) -> None:
    @hf.task
    def greedy(self: int, args: int, kwargs: int, task: int, _private: int) -> list[int]:
        return [self, args, kwargs, task, _private]

    handle = greedy.enqueue(self=1, args=2, kwargs=3, task=4, _private=5)
    hf.drain()
    assert handle.result(timeout=WAIT) == [1, 2, 3, 4, 5]


def test_open_keywords_are_typed_by_their_hint(hf: Holdfast) -> None:
    @hf.task
    def collect(first: int, **times: datetime) -> list[str]:
        return [f"{name} {time:%Y}" for name, time in times.items()]

    with refused(hf, InvalidPayload, "does not fit task 'collect'"):
        collect.enqueue(1, soon="tomorrow")  # type: ignore[arg-type]
    handle = collect.enqueue(1, soon=WHEN, late=WHEN)
    hf.drain()
    assert handle.result(timeout=WAIT) == ["soon 2030", "late 2030"]


def test_many_payloads_are_stored_together_or_not_at_all(hf: Holdfast) -> None:
    @hf.task
    def take(x: int) -> int:
        return x

    with refused(hf, InvalidPayload, "does not fit task 'take'"):
        take.enqueue_many([{"x": 1}, {"x": "2"}])
    assert take.enqueue_many([]) == []
    handles = take.enqueue_many({"x": number} for number in range(100))
    hf.drain()
    assert [handle.result(timeout=WAIT) for handle in handles] == list(range(100))


@pytest.mark.parametrize(
    ("payloads", "error", "message"),
    [
        (None, InvalidInput, "None is not a list of payloads"),
        ("abc", InvalidInput, "'abc' is not a list of payloads"),
        ({"x": 1}, InvalidInput, "{'x': 1} is not a list of payloads: give one dictionary for each job"),
        ([1], InvalidPayload, "payload 1 is not a JSON object: give the task's arguments"),
        ([{1: 1}], InvalidPayload, "keywords must be strings"),
        ([{}] * 10_001, InvalidInput, "payloads is not valid: use at most 10000 of them"),
    ],
    ids=["None", "text", "one payload", "a number", "no name", "too many"],
)
def test_what_is_no_list_of_payloads_is_refused(
    hf: Holdfast, anything: Task[..., Any], payloads: Any, error: Any, message: str
) -> None:
    with refused(hf, error, message):
        anything.enqueue_many(payloads)


def test_a_payload_can_be_edited_while_it_waits(hf: Holdfast) -> None:
    @hf.task
    def take(x: int) -> int:
        return x

    handle = take.enqueue(x=1)
    with pytest.raises(InvalidPayload, match="does not fit task 'take'"):
        handle.edit(x="2")
    hf.job(handle.id).edit(x=3)
    hf.drain()
    assert handle.result(timeout=WAIT) == 3
