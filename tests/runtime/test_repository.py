"""Where a real git repository stands, and what happened to it: read from its files after real commands of git."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from holdfast.runtime.planner.repository import Repository, RepositoryMemory
from holdfast.runtime.planner.tree import FolderGone

pytestmark = pytest.mark.processes


class Git:
    """A repository, and what was known of it at the last look."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.known: RepositoryMemory | None = None

    def __call__(self, *words: str, may_fail: bool = False) -> str:
        """Run git there, as a person whose settings are empty."""
        settings = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull, "GIT_EDITOR": "true"}
        person = {
            f"GIT_{role}_{field}": f"me@{field}.example"
            for role in ("AUTHOR", "COMMITTER")
            for field in ("NAME", "EMAIL")
        }
        done = subprocess.run(
            ["git", *words],
            cwd=self.root,
            env={**os.environ, **settings, **person},
            capture_output=True,
            text=True,
            check=False,
        )
        assert may_fail or done.returncode == 0, done.stderr
        return done.stdout.strip()

    def commit(self, name: str, text: str = "") -> str:
        """A commit that changes one file; its id."""
        (self.root / name).write_text(text or name)
        self("add", ".")
        self("commit", "-m", name)
        return self("rev-parse", "HEAD")

    def look(self) -> list[tuple[str, str]]:
        """What happened since the last look, and on which branch."""
        looked = Repository(str(self.root)).look(self.known)
        self.known = RepositoryMemory.decode(looked.memory.encoded())
        return [(move.event.value, move.branch) for move in looked.moves]


@pytest.fixture
def git(tmp_path: Path) -> Git:
    root = tmp_path / "repo"
    root.mkdir()
    git = Git(root)
    git("init", "-b", "main")
    git.commit("first")
    git.look()
    return git


def test_each_commit_is_told_once(git: Git) -> None:
    heads = [git("rev-parse", "HEAD"), git.commit("a"), git.commit("b")]
    looked = Repository(str(git.root)).look(git.known)
    assert [(move.old, move.new, move.branch) for move in looked.moves] == [
        (heads[0], heads[1], "main"),
        (heads[1], heads[2], "main"),
    ]
    assert git.look() == [("commit", "main")] * 2
    assert git.look() == []


def test_a_switch_a_merge_and_a_reset_are_told(git: Git) -> None:
    git("checkout", "-b", "topic")
    git.commit("a")
    git("checkout", "main")
    git("merge", "--no-ff", "-m", "merged", "topic")
    git("reset", "--hard", "HEAD~1")
    git("stash", may_fail=True)
    assert git.look() == [
        ("branch", "topic"),
        ("commit", "topic"),
        ("branch", "main"),
        ("merge", "main"),
        ("branch", "main"),
    ]


def test_a_rebase_of_fifty_commits_is_one_move(git: Git) -> None:
    git("checkout", "-b", "topic")
    for number in range(50):
        git("commit", "--allow-empty", "-m", f"t{number}")
    old = git("rev-parse", "HEAD")
    git("checkout", "main")
    git.commit("elsewhere")
    git("checkout", "topic")
    git.look()
    git("rebase", "main")
    looked = Repository(str(git.root)).look(git.known)
    assert [(move.event, move.old, move.new) for move in looked.moves] == [("rebase", old, git("rev-parse", "HEAD"))]
    assert git.look() == [("rebase", "topic")]


def test_a_rebase_that_stops_is_told_when_it_has_ended(git: Git) -> None:
    git("checkout", "-b", "topic")
    git.commit("same", "mine")
    git("checkout", "main")
    git.commit("same", "theirs")
    git("checkout", "topic")
    git.look()
    git("rebase", "main", may_fail=True)
    assert git.look() == []
    (git.root / "same").write_text("both")
    git("add", ".")
    git("rebase", "--continue")
    assert git.look() == [("rebase", "topic")]


def test_a_rebase_that_was_given_up_is_not_told(git: Git) -> None:
    git("checkout", "-b", "topic")
    git.commit("same", "mine")
    git("checkout", "main")
    git.commit("same", "theirs")
    git("checkout", "topic")
    git.look()
    git("rebase", "main", may_fail=True)
    assert git.look() == []
    git("rebase", "--abort")
    assert git.look() == []


def test_a_worktree_has_a_head_of_its_own(git: Git) -> None:
    other = Git(git.root.parent / "other")
    git("worktree", "add", "-b", "side", str(other.root))
    other.look()
    git.look()
    other.commit("there")
    assert other.look() == [("commit", "side")]
    assert git.look() == []
    assert any(folder.endswith("/worktrees/other/logs") for folder in Repository(str(other.root)).folders())


def test_without_a_journal_the_difference_is_told(git: Git) -> None:
    git("config", "core.logAllRefUpdates", "false")
    shutil.rmtree(git.root / ".git" / "logs")
    git.look()
    git.commit("a")
    git("pack-refs", "--all")
    assert git.look() == [("commit", "main")]
    git("checkout", "-b", "topic")
    assert git.look() == [("branch", "topic")]
    assert git.look() == []


def test_a_journal_that_git_shortened_loses_nothing(git: Git) -> None:
    journal = git.root / ".git" / "logs" / "HEAD"
    git.commit("a")
    git.look()
    journal.write_text(journal.read_text().split("\n", 1)[1])
    git.commit("b")
    assert git.look() == [("commit", "main")]


def test_a_bare_repository_can_be_watched(git: Git) -> None:
    bare = Git(git.root.parent / "bare.git")
    git("clone", "--bare", ".", str(bare.root))
    bare.look()
    git.commit("a")
    git("push", str(bare.root), "main")
    assert bare.look() == [("commit", "main")]


def test_what_is_no_repository_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(FolderGone, match="this is not a git repository"):
        Repository(str(tmp_path)).look(None)
    with pytest.raises(FolderGone, match="the repository is not there"):
        Repository(str(tmp_path / "nowhere")).look(None)
