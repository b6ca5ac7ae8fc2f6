"""Jobs about the same thing: the newest runs, the stale ones are discarded."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Callable
from enum import Enum

import pytest

from holdfast import Context, Holdfast, InvalidInput, JobCancelled, JobHandle, Retry, RunStatus, StateName, Task
from tests.client.acts import WAIT, Crowd, Gate


def states(handles: list[JobHandle[None]]) -> Counter[StateName]:
    return Counter(handle.state for handle in handles)


@pytest.fixture
def index(hf: Holdfast) -> Task[..., int]:
    """A task about one file, which returns the generation it ran for."""

    @hf.task(subject="editor::{repo}::{path}")
    def index(ctx: Context, path: str = "a.py", repo: str = "r1") -> int:
        return ctx.job.generation or 0

    return index


def test_fifty_saves_before_anything_runs_are_one_run(hf: Holdfast, index: Task[..., int]) -> None:
    handles = [index.enqueue() for _ in range(50)]
    assert hf.drain() == 1
    assert [handle.state for handle in handles] == [StateName.SUPERSEDED] * 49 + [StateName.DONE]
    assert handles[-1].result(timeout=WAIT) == 50


def test_fifty_saves_while_the_first_one_runs_are_two_runs(hf: Holdfast) -> None:
    gate = Gate()

    @hf.task(subject="the file")
    def save() -> None:
        gate.pass_through()

    with hf:
        handles = [save.enqueue()]
        gate.await_arrival()
        handles += [save.enqueue() for _ in range(49)]
        gate.open()
        assert handles[-1].wait(timeout=WAIT) is StateName.DONE
    assert states(handles) == {StateName.DONE: 2, StateName.SUPERSEDED: 48}
    assert sum(len(handle.runs) for handle in handles) == 2


def test_two_jobs_of_one_subject_never_run_at_once(hf: Holdfast) -> None:
    crowd = Crowd()

    @hf.task(subject="the file")
    def save() -> None:
        with crowd.inside():
            pass

    with hf:
        handles = [save.enqueue() for _ in range(20)]
        assert handles[-1].wait(timeout=WAIT) is StateName.DONE
    assert crowd.most == 1


def test_a_newer_generation_stops_the_older_run_if_the_task_says_so(hf: Holdfast) -> None:
    started = threading.Event()

    @hf.task(subject="the file", stop_older=True, retry=5)
    async def save(ctx: Context) -> int:
        if ctx.job.generation == 1:
            started.set()
            await asyncio.Event().wait()
        return 2

    with hf:
        older = save.enqueue()
        assert started.wait(WAIT)
        newer = save.enqueue()
        assert newer.result(timeout=WAIT) == 2
        with pytest.raises(JobCancelled, match="it is SUPERSEDED: a newer generation came while it ran"):
            older.result(timeout=WAIT)
    assert [run.status for run in older.runs] == [RunStatus.CANCELLED]


def test_a_stale_run_that_fails_is_not_tried_again(hf: Holdfast) -> None:
    gate = Gate()

    @hf.task(subject="the file", retry=Retry(5, initial=0))
    def save(ctx: Context) -> None:
        if ctx.job.generation == 1:
            gate.pass_through()
            raise ConnectionError

    with hf:
        older = save.enqueue()
        gate.await_arrival()
        newer = save.enqueue()
        gate.open()
        assert newer.wait(timeout=WAIT) is StateName.DONE
        assert older.wait(timeout=WAIT) is StateName.SUPERSEDED


def test_the_same_generation_is_the_same_job(hf: Holdfast, index: Task[..., int]) -> None:
    first = index.options(generation=7).enqueue()
    again = index.options(generation=7).enqueue()
    assert (again.id, again.was_existing, again.generation) == (first.id, True, 7)
    hf.drain()
    later = index.options(generation=7).enqueue()
    assert (later.id, later.state) == (first.id, StateName.DONE)


def test_an_older_generation_is_superseded_at_once(index: Task[..., int]) -> None:
    index.options(generation=7).enqueue()
    older = index.options(generation=6).enqueue()
    assert (older.state, older.was_existing) == (StateName.SUPERSEDED, False)
    with pytest.raises(JobCancelled, match="generation 7 of its subject is known already"):
        older.result()


def test_an_unset_generation_is_the_next_one(index: Task[..., int]) -> None:
    assert index.options(generation=2**62).enqueue().generation == 2**62
    assert index.enqueue().generation == 2**62 + 1
    assert index.enqueue(path="other.py").generation == 1


def test_a_retry_by_hand_is_the_next_generation(hf: Holdfast, index: Task[..., int]) -> None:
    first = index.enqueue()
    hf.drain()
    again = first.retry()
    assert (again.generation, hf.drain(), again.state) == (2, 1, StateName.DONE)


def test_subjects_of_different_tasks_have_nothing_to_do_with_each_other(hf: Holdfast) -> None:
    names = ["one", "two"]
    handles = [hf.task(name=name, subject="the file")(lambda: None).enqueue() for name in names]
    assert states(handles) == {StateName.QUEUED: 2}


def test_a_subject_is_filled_from_the_arguments_and_their_defaults(index: Task[..., int]) -> None:
    handles = [index.enqueue(), index.enqueue(path="b.py"), index.enqueue("a.py", repo="r2")]
    subjects = ["editor::r1::a.py", "editor::r1::b.py", "editor::r2::a.py"]
    assert [handle.job.subject for handle in handles] == subjects
    assert [handle.job.tenant for handle in handles] == ["editor::r1", "editor::r1", "editor::r2"]


class Colour(Enum):
    RED = "red"


def test_an_argument_stands_in_a_subject_as_it_stands_in_the_payload(hf: Holdfast) -> None:
    @hf.task(subject="{colour} {{{number}}}")
    def paint(colour: Colour, number: int = 5) -> None: ...

    handles = [paint.enqueue(colour=Colour.RED), paint.enqueue(colour="red")]  # type: ignore[arg-type]
    assert [handle.job.subject for handle in handles] == ["red {5}", "red {5}"]


def test_a_subject_may_name_arguments_that_have_no_place_of_their_own(hf: Holdfast) -> None:
    @hf.task(subject="{colour}")
    def paint(**more: str) -> None: ...

    assert paint.enqueue(colour="red").job.subject == "red"
    with pytest.raises(InvalidInput, match="names 'colour', which is not an argument"):
        paint.enqueue(size="big")


@pytest.mark.parametrize("path", ["", "a\nb", "x" * 1_000])
def test_an_argument_that_makes_no_subject_is_refused(hf: Holdfast, path: str) -> None:
    @hf.task(subject="{path}{path}")
    def index(path: str) -> None: ...

    with pytest.raises(InvalidInput, match=r"subject .* is not valid: use 1 to 1000 characters"):
        index.enqueue(path=path)


def test_many_of_one_subject_in_one_call_leave_the_last(hf: Holdfast, index: Task[..., int]) -> None:
    handles = index.enqueue_many([{"path": path} for path in ("a.py", "b.py", "a.py")])
    assert [handle.state for handle in handles] == [StateName.SUPERSEDED, StateName.QUEUED, StateName.QUEUED]
    assert hf.drain() == 2


def test_two_programs_agree_on_the_newest(make_holdfast: Callable[..., Holdfast]) -> None:
    def save() -> None: ...

    tasks = [make_holdfast().task(subject="the file")(save) for _ in range(2)]
    handles = [tasks[number % 2].enqueue() for number in range(6)]
    assert [handle.generation for handle in handles] == [1, 2, 3, 4, 5, 6]
    assert states(handles) == {StateName.SUPERSEDED: 5, StateName.QUEUED: 1}
