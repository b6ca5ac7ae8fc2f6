"""A repository that a stranger prepared is read without waiting, without end and without leading elsewhere."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from holdfast.runtime.planner.repository import LONGEST_LINE, Repository, RepositoryMemory
from holdfast.runtime.planner.tree import FolderGone

SECRET = "a line of a file that is none of its business"
COMMIT = "1234567890" * 4
KNOWN = RepositoryMemory(COMMIT, "main", 0, "")


def pipe_for_head(git: Path) -> None:
    os.mkfifo(git / "HEAD")


def link_to_a_pipe(git: Path) -> None:
    os.mkfifo(git / "pipe")
    (git / "HEAD").symlink_to("pipe")


def link_to_itself(git: Path) -> None:
    (git / "HEAD").symlink_to("HEAD")


def endless_head(git: Path) -> None:
    (git / "HEAD").symlink_to("/dev/zero")


def long_head(git: Path) -> None:
    (git / "HEAD").write_text("ref: refs/heads/" + "x" * (4 * LONGEST_LINE))


def head_that_leads_out(git: Path) -> None:
    (git / "secret").write_text(SECRET)
    (git / "HEAD").write_text("ref: refs/heads/../../secret")


def branch_that_is_a_pipe(git: Path) -> None:
    (git / "HEAD").write_text("ref: refs/heads/main")
    (git / "refs" / "heads").mkdir(parents=True)
    os.mkfifo(git / "refs" / "heads" / "main")


def branch_that_is_a_link(git: Path) -> None:
    (git / "secret").write_text(SECRET)
    (git / "HEAD").write_text("ref: refs/heads/main")
    (git / "refs" / "heads").mkdir(parents=True)
    (git / "refs" / "heads" / "main").symlink_to(git / "secret")


def commit_that_is_none(git: Path) -> None:
    (git / "HEAD").write_text(SECRET)


def half_a_letter(git: Path) -> None:
    (git / "HEAD").write_bytes(b"ref: refs/heads/\xff\xfe\x80")


def zero_bytes(git: Path) -> None:
    (git / "HEAD").write_bytes(b"ref: refs/heads/\x00main")


def packed_lines_without_end(git: Path) -> None:
    (git / "HEAD").write_text("ref: refs/heads/main")
    (git / "packed-refs").write_text("x" * 1_000_000 + " refs/heads/main\n")


def journal_that_is_a_pipe(git: Path) -> None:
    (git / "HEAD").write_text("ref: refs/heads/main")
    (git / "logs").mkdir()
    os.mkfifo(git / "logs" / "HEAD")


def journal_of_nonsense(git: Path) -> None:
    (git / "HEAD").write_text("ref: refs/heads/main")
    (git / "logs").mkdir()
    lines = [b"\xff" * 200, b"x" * 50 + b" " + b"y" * 50 + b" who\tcommit: z", b"\t\t\t", b" " * 1_000, b"\x00" * 99]
    (git / "logs" / "HEAD").write_bytes(b"\n".join(lines * 50) + b"\n")


def branches_of_nonsense(git: Path) -> None:
    (git / "HEAD").write_text("ref: refs/heads/main")
    (git / "logs").mkdir()
    where = ["../" * 100 + "etc/passwd", "x" * 100_000, "\x1b[31m", "a b", ".."]
    lines = [f"{COMMIT} {COMMIT[::-1]} who <w@x> 1 +0000\tcheckout: moving from {to} to {to}" for to in where]
    (git / "logs" / "HEAD").write_text("\n".join(lines) + "\n")


def common_folder_in_a_circle(git: Path) -> None:
    (git / "HEAD").write_text("ref: refs/heads/main")
    (git / "commondir").write_text("../.git/../.git")


def common_folder_that_cannot_be(git: Path) -> None:
    (git / "HEAD").write_text("ref: refs/heads/main")
    (git / "commondir").write_bytes(b"\x00/..")


REPOSITORIES: list[Callable[[Path], None]] = [
    pipe_for_head,
    link_to_a_pipe,
    link_to_itself,
    endless_head,
    long_head,
    head_that_leads_out,
    branch_that_is_a_pipe,
    branch_that_is_a_link,
    commit_that_is_none,
    half_a_letter,
    zero_bytes,
    packed_lines_without_end,
    journal_that_is_a_pipe,
    journal_of_nonsense,
    branches_of_nonsense,
    common_folder_in_a_circle,
    common_folder_that_cannot_be,
]


@pytest.mark.timeout(60)
@pytest.mark.parametrize("prepare", REPOSITORIES, ids=lambda prepare: prepare.__name__)
@pytest.mark.parametrize("known", [None, KNOWN], ids=["new", "known"])
def test_a_repository_is_read_or_refused_at_once(
    tmp_path: Path, prepare: Callable[[Path], None], known: RepositoryMemory | None
) -> None:
    git = tmp_path / ".git"
    git.mkdir()
    prepare(git)
    repository = Repository(str(tmp_path))
    try:
        repository.folders()
        looked = repository.look(known)
    except FolderGone:
        return
    told = looked.memory.encoded() + repr(looked.moves)
    assert SECRET not in told
    assert len(told) < 10_000
    assert all(move.branch.isprintable() and ".." not in move.branch for move in looked.moves)


@pytest.mark.parametrize("text", ["gitdir: .git", "gitdir: \x00", "gitdir: " + "x" * 5_000, "gitdir: /dev/zero", ""])
def test_a_file_that_points_elsewhere_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / ".git").write_text(text)
    with pytest.raises(FolderGone):
        Repository(str(tmp_path)).look(None)
