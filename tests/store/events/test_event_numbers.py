"""Events have numbers in the order of their commits, and may have data."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from holdfast.core.errors import InvalidInput
from holdfast.store.engine import Engine
from holdfast.store.scripts.events.events import emit, find_event, forget_events, list_events
from tests.store.acts import NOW, dump, write

LATER = NOW + 90_000_000


def numbers(engine: Engine) -> list[int]:
    """The numbers of all events, newest first."""
    return [view.event.number for view in engine.query(list_events, limit=1_000).events]


def test_a_list_goes_by_number_whatever_the_clock_says(engine: Engine) -> None:
    for moment, name in enumerate(["c", "b", "a"]):
        write(engine, emit, name, "x", {}, NOW - moment)
    assert [view.event.id for view in engine.query(list_events).events] == ["a", "b", "c"]
    assert numbers(engine) == sorted(numbers(engine), reverse=True)


def test_a_number_is_never_given_twice(engine: Engine) -> None:
    first = write(engine, emit, "a", "x", {}, NOW)
    write(engine, forget_events, LATER)
    assert write(engine, emit, "b", "x", {}, NOW).number > first.number


def test_who_has_seen_a_number_has_seen_all_below_it(engine: Engine) -> None:
    def say(writer: int) -> None:
        for count in range(30):
            engine.run(emit, f"{writer}-{count}", "x", {}, NOW)

    seen: list[list[int]] = []
    with ThreadPoolExecutor(4) as writers:
        ends = [writers.submit(say, writer) for writer in range(4)]
        while not all(end.done() for end in ends) or not any(seen):
            seen.append(numbers(engine))
        for end in ends:
            end.result()
    last = numbers(engine)
    assert len(last) == 120
    for found in seen:
        # What was there at one moment is all that there is up to the newest of that moment.
        assert found == [number for number in last if found and number <= found[0]]


@pytest.mark.parametrize("data", [None, 0, "", "text", True, [1, 2.5, None], {"a": {"b": ["c"]}, "": "\x00"}])
def test_data_come_back_as_they_were_given(engine: Engine, data: Any) -> None:
    assert write(engine, emit, "e1", "x", {}, NOW, data=data).data == data
    assert engine.query(find_event, "e1").event.data == data


def deep(levels: int) -> Any:
    """A list in a list in a list."""
    return [] if levels == 1 else [deep(levels - 1)]


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: {"x": "y" * (64 << 10)}, "the limit is 65536"),
        (lambda: deep(33), "deeper than 32 levels"),
        (lambda: object(), "is not JSON"),
        (lambda: {1 + 2j: 1}, "is not JSON"),
    ],
)
def test_data_that_cannot_be_stored_are_refused_and_change_nothing(
    engine: Engine, make: Callable[[], Any], says: str
) -> None:
    before = dump(engine)
    with pytest.raises(InvalidInput, match=says):
        write(engine, emit, "e1", "x", {}, NOW, data=make())
    assert dump(engine) == before


def test_data_may_be_as_deep_and_long_as_the_limits_say(engine: Engine) -> None:
    assert write(engine, emit, "e1", "x", {}, NOW, data=deep(32)).data == deep(32)
    longest = "y" * ((64 << 10) - 2)
    assert write(engine, emit, "e2", "x", {}, NOW, data=longest).data == longest
