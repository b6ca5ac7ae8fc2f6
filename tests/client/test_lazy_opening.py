"""A database is opened by its first use, and again after it was closed."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from holdfast import Holdfast, StateName, StoreUnavailable
from tests.client.acts import WAIT, both_engines


def test_nothing_is_touched_before_the_first_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here, start, started = threading.current_thread(), threading.Thread.start, []

    def note(thread: threading.Thread) -> None:
        if threading.current_thread() is here:  # Others close what tests before this one used.
            started.append(thread)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", note)
    hf = Holdfast(tmp_path / "work.db")

    @hf.task(queue="build", retry=3, subject="{x}")
    def task(x: int) -> int:
        return x

    task.options(delay=5)
    hf.call("double", {"x": 1})
    assert (task(1), hf.is_running, repr(hf)) == (1, False, f"<Holdfast {tmp_path / 'work.db'}>")
    hf.stop()
    hf.close()
    assert list(tmp_path.iterdir()) == []
    assert started == []


def test_a_server_is_not_spoken_to_before_the_first_use() -> None:
    hf = Holdfast("postgresql://postgres@localhost:1/nowhere")
    hf.task(name="task")(lambda: None).options(delay=5)
    hf.close()


@pytest.mark.parametrize("kind", [str, Path])
def test_a_path_may_be_text_or_a_path(tmp_path: Path, kind: Callable[[Path], str | Path]) -> None:
    hf = Holdfast(kind(tmp_path / "work.db"))
    hf.counts()
    hf.close()
    assert (tmp_path / "work.db").exists()


def test_a_relative_path_stays_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    hf = Holdfast("work.db")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    hf.counts()
    hf.close()
    assert (tmp_path / "work.db").exists()


@both_engines
def test_a_closed_holdfast_opens_again_by_its_next_use(hf: Holdfast) -> None:
    @hf.task
    def double(x: int) -> int:
        return 2 * x

    handle = double.enqueue(x=21)
    hf.close()
    assert handle.state is StateName.QUEUED
    hf.close()
    with hf:
        assert handle.result(timeout=WAIT) == 42
    hf.close()
    assert handle.result(timeout=WAIT) == 42
    assert double.enqueue(x=1).state is StateName.QUEUED


@both_engines
def test_close_stops_what_runs(hf: Holdfast) -> None:
    hf.start()
    hf.close()
    assert not hf.is_running


@both_engines
def test_what_one_program_stored_another_one_finds(make_holdfast: Callable[..., Holdfast]) -> None:
    def double(x: int) -> int:
        return 2 * x

    first = make_holdfast()
    handle = first.task(double).enqueue(x=21)
    first.close()
    second = make_holdfast()
    second.task(double)
    assert second.drain() == 1
    assert second.job(handle.id).result(timeout=WAIT) == 42


def test_tasks_and_handles_outlive_the_holdfast_they_came_from(tmp_path: Path) -> None:
    hf = Holdfast(tmp_path / "work.db")

    @hf.task
    def task() -> None: ...

    handle = task.enqueue()
    del hf
    gc.collect()
    assert handle.state is StateName.QUEUED
    handle.cancel()
    handle._access.engine.close()


def test_a_failed_opening_is_tried_again_by_the_next_use(tmp_path: Path) -> None:
    hf = Holdfast(tmp_path / "later" / "work.db")
    with pytest.raises(StoreUnavailable):
        hf.counts()
    (tmp_path / "later").mkdir()
    assert hf.counts() == {}
    hf.close()
