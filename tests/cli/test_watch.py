"""`holdfast watch`: made, listed, tried out, paused and removed from a shell."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.chaos.processes import until
from tests.cli.shell import Shell


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "source"
    folder.mkdir()
    return folder


def test_a_watch_from_its_beginning_to_its_end(sh: Shell, root: Path) -> None:
    added = sh.ok("watch", "add", root, "--glob", "**/*.py", "--task", "index_file", "--debounce", "10ms")
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
    assert sh.ok("watch", "rm", "source").out == "watch source is gone\n"
    assert sh.ok("watch", "ls", "--json").json == []


def test_a_path_can_be_tried_out(sh: Shell, root: Path) -> None:
    (root / ".gitignore").write_text("build/\n")
    sh.ok("watch", "add", root, "-g", "*.py", "--task", "index_file", "--payload", '{"file": "{path}"}')
    try:
        said = sh.ok("watch", "test", root / "a.py")
        assert "✓ source: a change here becomes a job" in said.out
        assert f'{{"file":"{root}/a.py"}}' in said.out
        assert "✗ source: build/a.py is ignored" in sh.ok("watch", "test", root / "build" / "a.py").out
        assert "none of its globs means a.md" in sh.ok("watch", "test", root / "a.md").out
        assert "no watch of a folder has this path in it" in sh.ok("watch", "test", "/nowhere").out
    finally:
        sh.ok("watch", "rm", "source")


def test_a_mistake_is_named(sh: Shell, root: Path) -> None:
    for words, says in (
        (("--glob", "/abs"), "glob '/abs' is not valid"),
        (("--subject", "{nobody}"), "names 'nobody'; a folder watch knows"),
        (("--payload", "[1]"), "is not a JSON object"),
        (("--git", "--glob", "*.py"), "a watch of a git repository has no globs"),
        (("--debounce", "soon"), "is not a duration"),
    ):
        said = sh("watch", "add", root, "--task", "t", *words)
        assert said.code == 2, said
        assert says in said.err
    assert "there is no watch 'nobody'" in sh("watch", "show", "nobody").err


def test_a_name_is_taken_once_unless_it_is_replaced(sh: Shell, root: Path) -> None:
    sh.ok("watch", "add", root, "--task", "t")
    try:
        assert "there is a watch 'source' already" in sh("watch", "add", root, "--task", "other").err
        assert sh.ok("watch", "add", root, "--task", "other", "--replace", "--json").json["task"] == "other"
    finally:
        sh.ok("watch", "rm", "source")
