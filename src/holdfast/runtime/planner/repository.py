"""Reads the state of a git repository from its files, without git: HEAD, its branch, and its journal (reflog)."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
from msgspec import Struct

from holdfast.core.watching.git import (
    Entry,
    GitMove,
    HeadPosition,
    commit_of,
    is_branch,
    moved_without_journal,
    moves_of,
    parse_entry,
)
from holdfast.decoding import decode
from holdfast.runtime.planner import regular_files
from holdfast.runtime.planner.tree import FolderGone

TAIL = 120
LONGEST_JOURNAL = 64 << 20
LONGEST_LINE = 64 << 10

_ON_BRANCH = "ref: refs/heads/"


class NoRepository(FolderGone):
    """The folder is there, but is no git repository."""


class RepositoryMemory(Struct, frozen=True):
    """The last known state of a repository, and up to where its journal was read. `tail` is the text before that."""

    head: str
    branch: str
    end: int
    tail: str

    def encoded(self) -> str:
        """The text that is stored."""
        return msgspec.json.encode(self, order="sorted").decode()

    @classmethod
    def decode(cls, text: str) -> RepositoryMemory:
        """Read from the stored text."""
        return decode(text, cls)


class RepositoryReading(Struct, frozen=True):
    """What a look at a repository found."""

    memory: RepositoryMemory
    moves: list[GitMove]


class Repository:
    """A repository, a worktree of one, or a bare one."""

    def __init__(self, root: str) -> None:
        self.root = root

    def folders(self) -> set[str]:
        """The folders in which something changes when HEAD moves."""
        git, shared = self._places()
        branch = self._branch(git)
        found = {git, git / "logs", shared, shared / "refs" / "heads"}
        if branch:
            found.add((shared / "refs" / "heads" / branch).parent)
        return {str(folder) for folder in found if folder.is_dir()}

    def look(self, known: RepositoryMemory | None) -> RepositoryReading:
        """Its state, and the moves since the known one. An unfinished rebase is not told yet."""
        git, shared = self._places()
        is_rebasing = (git / "rebase-merge").exists() or (git / "rebase-apply" / "rebasing").exists()
        position = self._position(git, shared)
        journal = git / "logs" / "HEAD"
        if known is None:
            return RepositoryReading(_memory(position, *_end(journal)), [])
        entries, begin = _entries(journal, known)
        if entries is None:
            moves = [] if is_rebasing else moved_without_journal(HeadPosition(known.head, known.branch), position)
            return RepositoryReading(known if is_rebasing else _memory(position, *_end(journal)), moves)
        told = moves_of(entries, position, begin, is_rebasing=is_rebasing)
        if not entries and begin == 0 and not is_rebasing:
            # There is no journal, so only the two states can be compared.
            told.moves.extend(moved_without_journal(HeadPosition(known.head, known.branch), position))
        now = HeadPosition(known.head, known.branch) if is_rebasing else position
        return RepositoryReading(_memory(now, told.end, _tail(journal, told.end)), told.moves)

    def _places(self) -> tuple[Path, Path]:
        """The folder with HEAD, and the one with the branches. They differ only in a worktree."""
        root = Path(self.root)
        if not root.is_dir():
            raise FolderGone("the repository is not there")
        git = root / ".git"
        try:
            if git.is_file():
                git = root / _text(git).removeprefix("gitdir:").strip()
            elif not git.is_dir():
                git = root  # Perhaps a bare one.
            if not (git / "HEAD").is_file():
                raise NoRepository("this is not a git repository")
            common = git / "commondir"
            shared = git / _text(common) if common.is_file() else git
        except OSError as error:
            raise FolderGone(f"the repository cannot be looked at: {error.strerror}") from None
        except ValueError:
            raise NoRepository("this is not a git repository: it points to a place that cannot be") from None
        return Path(os.path.normpath(git)), Path(os.path.normpath(shared))

    def _branch(self, git: Path) -> str:
        try:
            text = _text(git / "HEAD")
        except OSError as error:
            raise FolderGone(f"the repository cannot be looked at: {error.strerror}") from None
        if not text.startswith(_ON_BRANCH):
            return ""
        branch = text.removeprefix(_ON_BRANCH)
        if not is_branch(branch):
            raise NoRepository("this is not a git repository: the branch in its HEAD is none")
        return branch

    def _position(self, git: Path, shared: Path) -> HeadPosition:
        branch = self._branch(git)
        if branch == ".invalid":
            raise FolderGone("this repository keeps its references as reftable, which cannot be read yet")
        if not branch:
            return HeadPosition(_commit_in(git / "HEAD"), "")
        name = f"refs/heads/{branch}"
        return HeadPosition(_commit_in(shared / name) or _packed(shared / "packed-refs", name), _whole(branch))


def _memory(position: HeadPosition, end: int, tail: str) -> RepositoryMemory:
    return RepositoryMemory(position.head, position.branch, end, tail)


def _whole(text: str) -> str:
    """A text that can be stored. Bytes that are no text become question marks."""
    return text.encode("utf-8", "replace").decode()


def _text(path: Path) -> str:
    """The line in a file of git, decoded as names of files are."""
    return (regular_files.read_regular(path, LONGEST_LINE) or b"").decode("utf-8", "surrogateescape").strip()


def _commit_in(path: Path) -> str:
    """The commit in a file. Empty, if it has none."""
    try:
        data = regular_files.read_regular(path, LONGEST_LINE)
    except (OSError, ValueError):
        return ""
    return commit_of((data or b"").decode("ascii", "replace").strip())


def _packed(path: Path, name: str) -> str:
    for line in _read(path, 0).decode("ascii", "replace").splitlines():
        commit, _, called = line.partition(" ")
        if called == name:
            return commit_of(commit)
    return ""


def _end(journal: Path) -> tuple[int, str]:
    """The end of the last whole line, and the text before it."""
    data = _read(journal, 0)
    end = data.rfind(b"\n") + 1
    return end, data[max(0, end - TAIL) : end].decode("latin-1")


def _tail(journal: Path, end: int) -> str:
    begin = max(0, end - TAIL)
    return _read(journal, begin)[: end - begin].decode("latin-1")


def _entries(journal: Path, known: RepositoryMemory) -> tuple[list[Entry] | None, int]:
    """The whole lines after the known ones, and where they begin. None if that place is not found any more."""
    tail = known.tail.encode("latin-1")
    begin = known.end - len(tail)
    data = _read(journal, begin)
    if not data.startswith(tail):
        # git rewrites the journal when it removes old entries.
        data, begin = _read(journal, 0), 0
        place = data.rfind(tail)
        if place < 0:
            return None, 0
        data, begin = data[place:], place
    entries, place = [], begin + len(tail)
    for line in data[len(tail) :].splitlines(keepends=True):
        if not line.endswith(b"\n"):
            break
        place += len(line)
        entry = parse_entry(_whole(line.decode("utf-8", "surrogateescape")), place)
        if entry is not None:
            entries.append(entry)
    return entries, begin + len(tail)


def _read(journal: Path, begin: int) -> bytes:
    try:
        return regular_files.read_regular(journal, LONGEST_JOURNAL, begin) or b""
    except (OSError, ValueError):
        return b""
