"""Watches from a Python program: kept in its database for a daemon, checked before they are stored."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from holdfast import Conflict, Holdfast, InvalidInput, NotFound


@pytest.fixture
def hf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Holdfast:
    monkeypatch.chdir(tmp_path)
    return Holdfast(tmp_path / "work.db")


def test_a_watch_is_kept_until_it_is_removed(hf: Holdfast, tmp_path: Path) -> None:
    made = hf.add_watch("./my src", task="index", debounce=0.25, max_wait=2)
    assert (made.name, made.path, made.debounce_ms, made.max_wait_ms) == ("my-src", f"{tmp_path}/my src", 250, 2_000)
    assert hf.watches() == [made]
    assert not hf.pause_watch("my-src").enabled
    assert hf.resume_watch("my-src").enabled
    with pytest.raises(Conflict, match="there is a watch 'my-src' already"):
        hf.add_watch("my src")
    assert hf.add_watch("my src", git=True, replace=True).kind == "git"
    hf.remove_watch("my-src")
    with pytest.raises(NotFound, match="there is no watch 'my-src'"):
        hf.watch("my-src")


def test_the_awaitable_twins_do_the_same(hf: Holdfast) -> None:
    async def story() -> None:
        made = await hf.aadd_watch("src", task="index")
        assert await hf.awatches() == [await hf.awatch("src")] == [made]
        assert not (await hf.apause_watch("src")).enabled
        assert (await hf.aresume_watch("src")).enabled
        assert [test.is_meant for test in await hf.atest_watches("src/a.py")] == [True]
        await hf.aremove_watch("src")
        assert await hf.awatches() == []

    asyncio.run(story())


def test_a_path_is_tried_out_against_every_watch_that_it_is_in(hf: Holdfast) -> None:
    hf.add_watch("src", task="index", globs=["*.py"])
    hf.add_watch("src/deep", task="count")
    hf.add_watch("elsewhere", task="index")
    hf.add_watch("src", name="commits", git=True, task="index")
    hf.pause_watch("deep")
    found = {test.watch: test for test in hf.test_watches("src/deep/a.py")}
    assert sorted(found) == ["commits", "deep", "src"]
    assert (found["commits"].is_meant, "commits, not at files" in found["commits"].reason) == (False, True)
    assert (found["src"].task, found["src"].subject) == ("index", "watch::src::deep/a.py")
    assert found["deep"].reason == "it is paused"


def test_a_place_that_is_not_there_yet_is_named_in_a_warning(
    hf: Holdfast, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    hf.add_watch("later")
    asyncio.run(hf.aadd_watch("soon", git=True))
    hf.add_watch(tmp_path, name="there")
    assert [record.getMessage() for record in caplog.records if record.name == "holdfast.watches"] == [
        f"the folder {tmp_path}/later is not there yet; it is watched once it appears",
        f"the repository {tmp_path}/soon is not there yet; it is watched once it appears",
    ]


def test_a_file_is_refused_and_so_is_a_folder_that_is_no_repository(hf: Holdfast, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "bare").mkdir()
    (tmp_path / "bare" / "HEAD").write_text("ref: refs/heads/main\n")
    with pytest.raises(InvalidInput, match=r"it is not a folder; watch .* with the glob 'file'"):
        hf.add_watch("file")
    with pytest.raises(InvalidInput, match="is not a git repository"):
        asyncio.run(hf.aadd_watch(tmp_path, git=True))
    assert [hf.add_watch("bare", git=True)] == hf.watches()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"glob": ["*.py"]}, "'glob' is not an option of a watch; use name, task"),
        ({"globs": "*.py"}, "use a list of texts"),
        ({"globs": [7]}, "globs 7 is not valid"),
        ({"payload": [1]}, "give the task's arguments by name"),
        ({"payload": {"x": object()}}, "is not JSON"),
        ({"debounce": -1}, "debounce -1 is not valid: use 0 s to 100 years"),
        ({"git": "yes"}, "use true or false"),
        ({"name": "a b"}, "is not valid"),
        ({"task": "a b"}, "task 'a b' is not valid"),
    ],
)
def test_a_mistake_is_named(hf: Holdfast, options: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidInput, match=says):
        hf.add_watch("src", **options)
    assert hf.watches() == []
