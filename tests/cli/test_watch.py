"""`holdfast watch`: made, listed, tried out, paused and removed from a shell."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.chaos.processes import until
from tests.cli.shell import Said, Shell
from tests.daemon.house import short_folder


@pytest.fixture
def root() -> Iterator[Path]:
    """A folder with so short a path that no message cuts it."""
    with short_folder() as folder:
        (folder / "source").mkdir()
        yield folder / "source"


def test_a_watch_from_its_beginning_to_its_end(sh: Shell, root: Path) -> None:
    added = sh.ok("watch", "add", root, "--glob", "**/*.py", "--task", "index_file", "--anyway", "--debounce", "10ms")
    assert added.out == f"watch source of {root}: **/*.py → index_file\n"
    until(lambda: "watching" in sh.ok("watch", "ls").out, "the first look is over")
    (root / "a.py").touch()
    until(lambda: sh.ok("watch", "show", "source", "--json").json["jobs"], "the file is found")
    [job] = sh.ok("ls", "--task", "index_file", "--json").json["jobs"]
    assert job["subject"] == "watch::source::a.py"
    assert "paused" in sh.ok("watch", "pause", "source").out
    assert "paused" in sh.ok("watch", "ls").out
    sh.ok("watch", "resume", "source")
    assert "debounce" in sh.ok("watch", "show", "source").out
    assert "Delete watch source of" in sh("watch", "rm", "source").err  # nobody can be asked here
    assert sh.ok("watch", "rm", "source", "--yes").out == "watch source is gone\n"
    assert sh.ok("watch", "ls", "--json").json == []


def test_a_path_can_be_tried_out(sh: Shell, root: Path) -> None:
    (root / ".gitignore").write_text("build/\n")
    sh.ok("watch", "add", root, "-g", "*.py", "--task", "index_file", "--anyway", "--payload", '{"file": "{path}"}')
    try:
        said = sh.ok("watch", "test", root / "a.py")
        assert "✓ source: a change here becomes a job" in said.out
        assert f'{{"file":"{root}/a.py"}}' in said.out
        for path, says in (
            (root / "build" / "a.py", "✗ source: build/a.py is ignored"),
            (root / "a.md", "none of its globs means a.md"),
            ("/nowhere", "no watch has this path in it"),
        ):
            said = sh("watch", "test", path)
            assert (said.code, says in said.out) == (1, True), said
        assert sh("watch", "test", "/nowhere", "--json") == Said(1, "[]\n", "")
    finally:
        sh.ok("watch", "rm", "source", "-y")


def test_a_mistake_is_named(sh: Shell, root: Path) -> None:
    for words, says in (
        (("--glob", "/abs"), "glob '/abs' is not valid"),
        (("--subject", "{nobody}"), "names 'nobody'; a folder watch knows"),
        (("--payload", "[1]"), "is not a JSON object"),
        (("--git", "--glob", "*.py"), "a watch of a git repository has no globs"),
        (("--debounce", "soon"), "--debounce 'soon' is not valid: use 0 s to 100 years"),
    ):
        said = sh("watch", "add", root, "--task", "t", "--anyway", *words)
        assert said.code == 2, said
        assert says in said.err
    for words in (("show", "nobody"), ("rm", "nobody", "-y")):
        assert "there is no watch 'nobody'; to see which there are: holdfast watch ls" in sh("watch", *words).err


def test_what_is_not_there_yet_is_said_and_what_can_never_be_watched_is_refused(sh: Shell, root: Path) -> None:
    later = sh.ok("watch", "add", root / "later", "--task", "t", "--anyway", "--json")
    sh.ok("watch", "rm", "later", "-y")
    assert later.err == f"holdfast: the folder {root}/later is not there yet; it is watched once it appears\n"
    (root / "a.py").touch()
    for words, says in (
        ((root / "a.py",), f"it is not a folder; watch '{root}' with the glob 'a.py'"),
        ((root, "--git"), f"path '{root}' is not a git repository"),
    ):
        said = sh("watch", "add", "--anyway", *words)
        assert (said.code, says in said.err) == (2, True), said
    assert sh.ok("watch", "ls", "--json").json == []


def test_a_name_is_taken_once_unless_it_is_replaced(sh: Shell, root: Path) -> None:
    sh.ok("watch", "add", root, "--task", "t", "--anyway")
    try:
        said = sh("watch", "add", root, "--task", "other", "--anyway").err
        assert "there is a watch 'source' already" in said
        assert "--replace" in said
        assert sh.ok("watch", "add", root, "--task", "other", "--anyway", "--replace", "--json").json["task"] == "other"
    finally:
        sh.ok("watch", "rm", "source", "-y")


def test_the_files_of_a_job_are_listed(sh: Shell, root: Path) -> None:
    sh.ok(
        "watch", "add", root, "--task", "nobody", "--anyway", "--max-jobs", "1", "--debounce", "1s", "--max-wait", "1ms"
    )
    until(lambda: "watching" in sh.ok("watch", "ls").out, "the first look is over")
    for name in "ab":
        (root / name).touch()
    until(lambda: sh.ok("watch", "show", "source", "--json").json["changes"] == 2, "the files are found")
    jobs = sh.ok("ls", "--task", "nobody", "--json").json["jobs"]
    said = [line for job in jobs for line in sh.ok("show", job["number"], "--files").lines]
    assert sorted(set(said)) == [f"added     {root / 'a'}", f"added     {root / 'b'}"]
    assert sh.ok("show", jobs[0]["number"], "--files", "--json").json["truncated"] is False
    sh.ok("watch", "rm", "source", "--yes")
    number = sh.number("run", "--", "true")
    assert "no files" in sh.ok("show", number, "--files").err


def test_a_watch_says_what_its_jobs_need_and_what_it_waits_for(sh: Shell, root: Path) -> None:
    sh.ok("queue", "tiny", "--max-length", "0")
    words = ("--settle", "10ms", "--timeout", "1m", "--retries", "3", "--tokens", "cpu=2", "--queue", "tiny")
    sh.ok("watch", "add", root, "--task", "nobody", "--anyway", *words)
    shown = sh.ok("watch", "show", "source", "--json").json
    assert (shown["settle_ms"], shown["timeout_ms"], shown["policy"]["retries"]) == (10, 60_000, 3)
    assert shown["tokens"]["cpu"] == 2
    until(lambda: "watching" in sh.ok("watch", "ls").out, "the first look is over")
    (root / "a").touch()
    waits = "waits for room in queue tiny for a changed file"
    until(lambda: waits in sh.ok("watch", "ls").out, "it says what it waits for")
    assert f"source {waits}" in sh("doctor").out
    sh.ok("watch", "rm", "source", "--yes")
