"""What a type checker knows of tasks and handles. Nothing here runs: `make check` reads it with mypy, strictly.

A `type: ignore` stands where a mistake must be found; mypy complains of one that is not needed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_type

from holdfast import Context, Holdfast, Job, JobHandle, Run, StateName
from holdfast.client.resources.group_handle import GroupHandle
from holdfast.core.messages.jobs import Page

hf = Holdfast("work.db")


@dataclass
class Point:
    x: int


@hf.task
def add(a: int, b: int) -> int:
    return a + b


@hf.task
async def aadd(a: int, b: int = 0) -> int:
    return a + b


@hf.task
def add_with_context(ctx: Context, a: int, b: int) -> int:
    return a + b + ctx.attempt


@hf.task
async def aadd_with_context(ctx: Context, a: int, *, b: int) -> int:
    return a + b + ctx.attempt


@hf.task(queue="maths", timeout=60)
def configured(a: int) -> Point:
    return Point(a)


@hf.task(retry=5)
async def aconfigured(a: int) -> list[Point]:
    return [Point(a)]


@hf.task(name="with context")
def configured_with_context(ctx: Context, a: str) -> None: ...


@hf.task(name="with context, awaited")
async def aconfigured_with_context(ctx: Context, a: str) -> bool:
    return bool(a)


def results_have_the_type_of_the_return_hint() -> None:
    assert_type(add.enqueue(a=1, b=2).result(), int)
    assert_type(add.enqueue(1, 2).result(timeout=5), int)
    assert_type(aadd.enqueue(a=1).result(), int)
    assert_type(add_with_context.enqueue(a=1, b=2).result(), int)
    assert_type(aadd_with_context.enqueue(1, b=2).result(), int)
    assert_type(configured.enqueue(a=1).result(), Point)
    assert_type(aconfigured.enqueue(a=1).result(), list[Point])
    assert_type(aconfigured_with_context.enqueue(a="x").result(), bool)
    assert_type(configured_with_context.enqueue(a="x"), JobHandle[None])


async def awaited_results_have_it_too() -> None:
    assert_type(await add.enqueue(a=1, b=2), int)
    assert_type(await (await aadd.aenqueue(a=1, b=2)), int)
    assert_type(await (await aadd_with_context.aenqueue(a=1, b=2)).aresult(timeout=5), int)
    assert_type(await aconfigured.options(delay=5).enqueue(a=1), list[Point])


def options_and_many_keep_the_type() -> None:
    assert_type(add.options(delay=5).enqueue(a=1, b=2).result(), int)
    assert_type(add.enqueue_many([{"a": 1, "b": 2}]), list[JobHandle[int]])
    assert_type(add.enqueue(a=1, b=2).retry().result(), int)


def handles_tell_what_they_give() -> None:
    handle = add.enqueue(a=1, b=2)
    assert_type(handle.state, StateName)
    assert_type(handle.job, Job)
    assert_type(handle.runs, list[Run])
    assert_type(handle.wait(), StateName)
    assert_type(hf.jobs(), Page)
    assert_type(hf.create_group(), GroupHandle)
    with hf as same:
        assert_type(same, Holdfast)


def wrong_arguments_are_found() -> None:
    add.enqueue(a="1", b=2)  # type: ignore[arg-type]
    add.enqueue(a=1)  # type: ignore[call-arg]
    add.enqueue(a=1, b=2, c=3)  # type: ignore[call-arg]
    add.options(delay=5).enqueue(a=None, b=2)  # type: ignore[arg-type]
    aadd.enqueue(b=2)  # type: ignore[call-arg]
    add_with_context.enqueue(a=1, b="2")  # type: ignore[arg-type]
    aadd_with_context.enqueue(1, 2)  # type: ignore[call-arg]
    configured_with_context.enqueue(a=1)  # type: ignore[arg-type]
