"""How a function becomes a task."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from holdfast import Context, Holdfast, InvalidInput, StateName
from holdfast.core.errors import Reserved
from tests.client.acts import WAIT


def function(x: int) -> int:
    return 2 * x


async def coroutine(x: int) -> int:
    await asyncio.sleep(0)
    return 2 * x


def function_with_context(ctx: Context, x: int) -> int:
    return 2 * x * ctx.attempt


async def coroutine_with_context(ctx: Context, x: int) -> int:
    await asyncio.sleep(0)
    return 2 * x * ctx.attempt


def function_with_unhinted_context(ctx, x):  # type: ignore[no-untyped-def]
    return 2 * x * ctx.attempt


def function_with_context_by_hint(run: Context, x: int) -> int:
    return 2 * x * run.attempt


KINDS = [
    function,
    coroutine,
    function_with_context,
    coroutine_with_context,
    function_with_unhinted_context,
    function_with_context_by_hint,
]


@pytest.mark.parametrize("kind", KINDS)
def test_functions_and_coroutines_run_with_and_without_a_context(hf: Holdfast, kind: Callable[..., Any]) -> None:
    task: Any = hf.task(kind)
    with hf:
        assert task.enqueue(x=21).result(timeout=WAIT) == 42


def test_the_decorator_works_bare_and_called(hf: Holdfast) -> None:
    @hf.task
    def bare() -> int:
        return 1

    @hf.task()
    def called() -> int:
        return 2

    @hf.task(queue="other", priority=3)
    def configured() -> int:
        return 3

    assert [task.enqueue().job.queue for task in (bare, called, configured)] == ["default", "default", "other"]


def test_a_task_called_like_a_function_is_the_function(hf: Holdfast) -> None:
    double = hf.task(function)
    assert double(4) == 8
    assert double(x=5) == 10
    assert hf.counts() == {}


def test_a_coroutine_task_called_directly_is_the_coroutine(hf: Holdfast) -> None:
    double = hf.task(coroutine)
    assert asyncio.run(double(4)) == 8


def test_a_task_looks_like_its_function(hf: Holdfast) -> None:
    @hf.task
    def documented(x: int) -> int:
        """Twice as much."""
        return 2 * x

    assert (documented.name, documented.__name__, documented.__doc__) == ("documented", "documented", "Twice as much.")
    assert documented.__module__ == __name__
    assert repr(documented) == "<Task documented>"
    assert repr(documented.options(delay=3, tag="x")) == "<Task documented with delay=3, tag='x'>"


def test_a_task_has_the_name_it_is_given(hf: Holdfast) -> None:
    task = hf.task(name="shop.orders/send-mail:v2")(function)
    assert task.enqueue(x=1).job.task == "shop.orders/send-mail:v2"


def test_a_lambda_and_a_bound_method_are_functions_too(hf: Holdfast) -> None:
    class Shop:
        def sell(self, x: int) -> int:
            return x + 1

    sell: Any = hf.task(Shop().sell)
    double: Any = hf.task(name="double")(lambda x: 2 * x)
    handles = [sell.enqueue(x=1), double.enqueue(x=1)]
    hf.drain()
    assert [handle.result(timeout=WAIT) for handle in handles] == [2, 2]


def test_a_second_task_of_the_same_name_is_refused(hf: Holdfast) -> None:
    first = hf.task(function)
    with pytest.raises(InvalidInput, match="there is a task 'function' already; give this one another name="):
        hf.task(name="function")(coroutine)
    handle = first.enqueue(x=1)
    hf.drain()
    assert handle.result(timeout=WAIT) == 2


def test_two_holdfasts_may_have_tasks_of_the_same_name(make_holdfast: Callable[..., Holdfast]) -> None:
    one, two = make_holdfast(), make_holdfast()
    one.task(function)
    assert two.task(function).enqueue(x=1).job.task == "function"


@pytest.mark.parametrize("name", ["", "a b", "ä", "-x", "x" * 201, "a\x00", 5])
def test_a_bad_name_is_refused(hf: Holdfast, name: Any) -> None:
    with pytest.raises(InvalidInput, match=r"task .* is not valid"):
        hf.task(name=name)(function)


class Callable_:
    def __call__(self, x: int) -> int:
        return x


@pytest.mark.parametrize("thing", [5, "name", Callable_, Callable_(), functools.partial(function, x=1)])
def test_what_is_no_function_is_refused(hf: Holdfast, thing: Any) -> None:
    with pytest.raises(InvalidInput, match="is not a function; use @hf"):
        hf.task(thing)


def generator(x: int) -> Iterator[int]:
    yield x


async def async_generator(x: int) -> AsyncIterator[int]:
    yield x


@pytest.mark.parametrize("thing", [generator, async_generator])
def test_a_generator_is_refused(hf: Holdfast, thing: Any) -> None:
    with pytest.raises(InvalidInput, match=f"'{thing.__name__}' is a generator"):
        hf.task(thing)


def any_number(*numbers: int) -> None: ...


def by_place(x: int, /) -> None: ...


def context_last(x: int, ctx: Context) -> None: ...


def context_last_by_hint(x: int, run: Context) -> None: ...


def hint_without_import(x: Missing) -> None: ...  # type: ignore[name-defined]  # noqa: F821


def hint_that_json_cannot_tell(x: list[int] | set[int]) -> None: ...


@pytest.mark.parametrize(
    ("thing", "message"),
    [
        (any_number, r"cannot take \*numbers.*: arguments travel by name"),
        (by_place, r"cannot take x.*: arguments travel by name"),
        (context_last, "'context_last' has its context as 'ctx': make it the first parameter"),
        (context_last_by_hint, "has its context as 'run': make it the first parameter"),
        (hint_without_import, "type hints of task 'hint_without_import' cannot be read: name 'Missing' is not defined"),
        (hint_that_json_cannot_tell, "type hints of task 'hint_that_json_cannot_tell' cannot be told apart in JSON"),
        (print, "'print' cannot take"),
        (getattr, "does not tell its parameters"),
    ],
)
def test_a_signature_that_cannot_be_a_payload_is_refused_where_it_is_defined(
    hf: Holdfast, thing: Any, message: str
) -> None:
    with pytest.raises(InvalidInput, match=message):
        hf.task(thing)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"qeue": "x"}, "'qeue' is not an option; use queue, priority, delay"),
        ({"queue": "a b"}, "queue 'a b' is not valid"),
        ({"queue": ""}, "queue '' is not valid"),
        ({"retry": "three"}, "retry 'three' is not valid"),
        ({"timeout": -1}, "timeout -1 is not valid: use 1 ms to 100 years"),
        ({"subject": "x::{y}"}, "names 'y', which is not an argument of the task"),
        ({"generation": 1}, "'generation' belongs to one job, not to a task"),
        ({"idempotency_key": "k"}, "'idempotency_key' belongs to one job, not to a task"),
        ({"after": "id"}, "'after' belongs to one job, not to a task"),
    ],
)
def test_a_wrong_option_shows_where_the_task_is_defined(hf: Holdfast, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        hf.task(**options)(function)


def test_a_task_cannot_be_added_to_a_holdfast_that_runs(hf: Holdfast) -> None:
    with hf, pytest.raises(InvalidInput, match="define its tasks before it starts"):
        hf.task(function)
    hf.task(function)


def test_a_job_whose_task_is_not_offered_here_waits(make_holdfast: Callable[..., Holdfast]) -> None:
    knows, does_not = make_holdfast(), make_holdfast()
    handle = knows.task(function).enqueue(x=1)
    does_not.task(coroutine)
    assert does_not.drain() == 0
    assert handle.state is StateName.QUEUED
    assert knows.drain() == 1


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"name": "holdfast.x"}, r"task 'holdfast\.x' is reserved: what begins with holdfast\. .* choose another name"),
        ({"name": "holdfast.webhook"}, r"task 'holdfast\.webhook' is reserved"),
        ({"name": "holdfast.x", "queue": "holdfast.x"}, r"queue 'holdfast\.x' is reserved"),
        ({"queue": "holdfast"}, "queue 'holdfast' is reserved"),
    ],
)
def test_names_of_the_systems_own_are_refused_where_a_task_is_made(
    hf: Holdfast, options: dict[str, Any], says: str
) -> None:
    with pytest.raises(Reserved, match=says) as refusal:
        hf.task(**options)(lambda: None)
    assert refusal.value.code == "ERR_RESERVED"


def test_a_task_may_name_the_trace_of_its_jobs(hf: Holdfast) -> None:
    @hf.task(trace_id="nightly")
    def work() -> None: ...

    assert work.enqueue().job.trace_id == "nightly"
