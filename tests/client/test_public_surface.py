"""The public names: each is explained by an example that runs, and each blocking call has an awaitable twin."""

from __future__ import annotations

import doctest
import inspect
import pkgutil
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import holdfast
import holdfast.testing
from holdfast import Context, GroupHandle, Holdfast, JobHandle, ScheduleHandle, Task

MODULES = ["holdfast", *(module.name for module in pkgutil.walk_packages(holdfast.__path__, "holdfast."))]
EXAMPLES = [test for name in MODULES for test in doctest.DocTestFinder().find(import_module(name)) if test.examples]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_the_example_runs(example: doctest.DocTest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    said: list[str] = []
    result = doctest.DocTestRunner().run(example, out=said.append, clear_globs=False)
    for value in example.globs.values():
        if isinstance(value, Holdfast):
            value.close()
    assert result.failed == 0, "".join(said)


@pytest.mark.parametrize("name", holdfast.__all__)
def test_a_public_name_is_explained_by_an_example(name: str) -> None:
    meant = getattr(holdfast, name)
    # A class that says nothing would have the words of its parent.
    explained = (meant.__doc__ if inspect.isfunction(meant) else vars(meant).get("__doc__")) or ""
    assert ">>> " in explained


@pytest.mark.parametrize("name", holdfast.testing.__all__)
def test_a_testing_helper_is_explained_by_an_example(name: str) -> None:
    explained = f"{holdfast.testing.__doc__}"
    assert getattr(holdfast.testing, name).__doc__
    assert any(name in line for line in explained.splitlines() if line.startswith((">>> ", "... ")))


def is_constant(name: str) -> bool:
    return name.isupper() and len(name) > 1


def test_the_public_names_are_sorted_and_there() -> None:
    # Constants first, as the linter wants it.
    assert holdfast.__all__ == sorted(holdfast.__all__, key=lambda name: (not is_constant(name), name))
    assert [name for name in holdfast.__all__ if not hasattr(holdfast, name)] == []


CLASSES = [Holdfast, Task, JobHandle, GroupHandle, ScheduleHandle, Context]
# What never waits for the database or for a job.
AT_ONCE = {
    Holdfast: {"app", "call", "command_call", "cron", "forget", "preview_cron", "reserve", "task"},
    Task: {"call", "options", "prepare"},
    JobHandle: set[str](),
    GroupHandle: set[str](),
    ScheduleHandle: set[str](),
    Context: {"artifact", "check", "progress"},
}
PROPERTIES_AT_ONCE = {
    Holdfast: {"is_running"},
    Task: {"name"},
    JobHandle: {"generation", "id", "known", "was_existing"},
    GroupHandle: set[str](),
    ScheduleHandle: set[str](),
    Context: {"attempt", "cancelled", "env", "job", "log", "run_id", "should_yield"},
}


def public(cls: type[Any], kind: Callable[[Any], bool]) -> dict[str, Any]:
    return {name: member for name, member in inspect.getmembers(cls, kind) if not name.startswith("_")}


def twin_of(name: str) -> str:
    # `await` alone is a keyword.
    return "await_" if name == "wait" else f"a{name}"


@pytest.mark.parametrize("cls", CLASSES)
def test_every_blocking_call_has_an_awaitable_twin_and_no_twin_is_alone(cls: type[Any]) -> None:
    methods = public(cls, inspect.isfunction)
    twins = {name for name, method in methods.items() if inspect.iscoroutinefunction(method)}
    properties = public(cls, lambda member: isinstance(member, property)).keys() - PROPERTIES_AT_ONCE[cls]
    blocking = (methods.keys() - twins - AT_ONCE[cls]) | properties
    assert {twin_of(name) for name in blocking} == twins


@pytest.mark.parametrize("cls", CLASSES)
def test_a_twin_takes_and_gives_the_same(cls: type[Any]) -> None:
    methods = public(cls, inspect.isfunction)
    for name, method in methods.items():
        twin = methods.get(twin_of(name))
        if twin is not None:
            assert inspect.signature(twin) == inspect.signature(method), name
    for name, member in public(cls, lambda member: isinstance(member, property)).items():
        twin = methods.get(twin_of(name))
        if twin is not None:
            assert inspect.signature(twin) == inspect.signature(member.fget), name


@pytest.mark.parametrize("cls", CLASSES)
def test_every_public_method_is_explained(cls: type[Any]) -> None:
    members = public(cls, lambda member: inspect.isfunction(member) or isinstance(member, property))
    assert [name for name, member in members.items() if not member.__doc__] == []
