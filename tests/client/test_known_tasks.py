"""What a program tells of its tasks, and what others get who know only their names."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Literal

import pytest

from holdfast import Holdfast, InvalidPayload, Retry, UnknownTask
from holdfast.core.messages.tasks import KnownTask
from holdfast.core.tasks.task import MAX_SCHEMA


@pytest.fixture
def worker(hf: Holdfast) -> Holdfast:
    """A program with a task, which has run."""

    @hf.task(queue="code", retry=Retry(4), timeout=60, tokens={"cpu": 1}, subject="{repo}::{path}", when_idle=True)
    def index(path: str, repo: str = "main", **more: int) -> None:
        """Index a file.

        All of it."""

    @hf.task
    def plain(x: int, password: str = "s3cret") -> int:
        return x

    hf.drain()
    return hf


@pytest.fixture
def other(worker: Holdfast, make_holdfast: Callable[..., Holdfast]) -> Holdfast:
    """A program that has no tasks of its own."""
    return make_holdfast()


def test_a_program_that_runs_declares_its_tasks(other: Holdfast) -> None:
    [index, plain] = other.tasks()
    [version] = index.versions
    assert (index.name, index.workers, version.doc) == ("index", 0, "Index a file.")
    assert version.source is not None
    assert version.source.startswith("tests.client.test_known_tasks:")
    assert (version.options.queue, version.options.timeout_ms, version.options.wait_for_idle) == ("code", 60_000, True)
    assert version.options.policy is not None
    assert version.options.policy.retries == 4
    assert version.arguments is not None
    assert version.arguments["required"] == ["path"]
    assert version.arguments["additionalProperties"] is True
    assert version.arguments["properties"]["repo"] == {"type": "string", "default": "main"}
    assert other.find_task("plain") == plain


def test_the_defaults_of_arguments_stay_in_the_code(other: Holdfast) -> None:
    assert "s3cret" not in str(other.find_task("plain"))


def test_a_program_that_knows_only_the_name_gets_the_options(other: Holdfast) -> None:
    handle = other.enqueue("index", {"path": "a.py"})
    job = handle.job
    assert (handle.known, job.queue, job.timeout_ms, job.policy.retries) == (True, "code", 60_000, 4)
    assert (job.subject, job.tokens.cpu, job.wait_for_idle) == ("main::a.py", 1, True)


def test_what_it_says_wins(other: Holdfast) -> None:
    job = other.enqueue("index", {"path": "a.py"}, queue="mine", when_idle=False, tokens={}, subject="s").job
    assert (job.queue, job.wait_for_idle, job.tokens.cpu, job.subject, job.timeout_ms) == (
        "mine",
        False,
        0,
        "s",
        60_000,
    )


def test_a_program_that_has_the_task_needs_no_worker_to_know_its_options(hf: Holdfast) -> None:
    @hf.task(queue="code", timeout=5, subject="about::{x}")
    def index(x: int = 3) -> None: ...

    handle = hf.enqueue("index", {}, must_exist=True)
    job = handle.job
    assert (handle.known, job.queue, job.timeout_ms, job.subject) == (False, "code", 5_000, "about::3")


def test_jobs_of_a_task_have_what_its_code_says_whatever_others_declared(
    worker: Holdfast, make_holdfast: Callable[..., Holdfast]
) -> None:
    newer = make_holdfast()

    @newer.task
    def index(path: str) -> None: ...

    job = index.enqueue(path="a.py").job
    assert (job.queue, job.timeout_ms, job.subject, job.tokens.cpu) == ("default", None, None, 0)


def test_what_does_not_fit_is_refused(other: Holdfast) -> None:
    with pytest.raises(InvalidPayload, match="argument 'x' is missing"):
        other.enqueue("plain")
    with pytest.raises(InvalidPayload, match="argument 'x' takes integer, not string"):
        other.enqueue("plain", {"x": "one"})
    assert other.jobs().jobs == []


def test_an_unknown_task_is_stored_unless_it_must_exist(other: Holdfast) -> None:
    assert other.enqueue("plian", {"x": 1}).known is False
    for refused in (
        lambda: other.enqueue("plian", {"x": 1}, must_exist=True),
        lambda: other.create_template("t", "plian", must_exist=True),
        lambda: other.create_schedule("s", cron="@daily", task="plian", must_exist=True),
        lambda: other.find_task("plian"),
    ):
        with pytest.raises(UnknownTask, match=r"there is no task 'plian' \(did you mean 'plain'\?\)"):
            refused()
    assert other.create_template("t", "plian").known is False
    assert other.create_schedule("s", cron="@daily", task="plian").view().known is False
    assert (len(other.jobs().jobs), len(other.templates())) == (1, 2)


def test_the_twins_do_the_same(other: Holdfast) -> None:
    async def ask() -> None:
        assert [task.name for task in await other.atasks()] == ["index", "plain"]
        assert (await other.afind_task("plain")).name == "plain"
        with pytest.raises(UnknownTask):
            await other.aenqueue("plian", must_exist=True)
        with pytest.raises(UnknownTask):
            await other.acreate_template("t", "plian", must_exist=True)

    asyncio.run(ask())


def test_a_shape_that_is_too_big_to_keep_is_told_by_its_names(hf: Holdfast) -> None:
    big: Any = Literal[tuple(f"word-{number}" for number in range(MAX_SCHEMA // 8))]

    def choose(word: str, count: int = 1) -> None: ...

    choose.__annotations__["word"] = big
    hf.task(choose)
    hf.drain()
    found: KnownTask = hf.find_task("choose")
    arguments = found.versions[0].arguments
    assert arguments is not None
    assert (arguments["properties"], arguments["required"]) == ({"word": {}, "count": {}}, ["word"])
