"""What happened to a git repository, read from the journal (reflog) that git keeps of its HEAD.

A rebase makes many entries, but is one move. It is told when it has ended.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import StrEnum

from msgspec import Struct

_REBASE = re.compile(r"(?:rebase|pull)\b[^:]*?\((\w+)\):? ?(.*)|rebase (finished)(?:: (.*))?", re.DOTALL)
_CHECKOUT = re.compile(r"checkout: moving from (\S+) to (\S+)")
_RETURNING = re.compile(r"returning to (?:refs/heads/)?(\S+)")
_BARE = re.compile(r"[0-9a-f]{40,64}")
_NOT_IN_BRANCH = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]")
LONGEST_BRANCH = 1_000
_COMMIT = ("commit", "cherry-pick", "revert", "am", "rebase")


class GitEvent(StrEnum):
    """What a person did. A reset counts as a switch: the branch stands elsewhere, and nothing was committed."""

    COMMIT = "commit"
    BRANCH = "branch"
    MERGE = "merge"
    REBASE = "rebase"


class Entry(Struct, frozen=True):
    """A line of the journal. `end` is where it ends in the file."""

    old: str
    new: str
    message: str
    end: int


class HeadPosition(Struct, frozen=True):
    """Where HEAD is: on a branch or, with an empty name, on none. `head` is empty before the first commit."""

    head: str
    branch: str


class GitMove(Struct, frozen=True):
    """One thing that happened: from which commit to which, on which branch."""

    event: GitEvent
    old: str
    new: str
    branch: str


class ToldMoves(Struct, frozen=True):
    """The moves, oldest first, and up to where the journal was read."""

    moves: list[GitMove]
    end: int


def parse_entry(line: str, end: int) -> Entry | None:
    """A line of the journal: `old new who <mail> seconds zone<TAB>message`. None if it is none."""
    head, _, message = line.partition("\t")
    old, _, rest = head.partition(" ")
    new = rest.partition(" ")[0]
    if not (_BARE.fullmatch(old) and _BARE.fullmatch(new)):
        return None
    return Entry(commit_of(old), commit_of(new), message.rstrip("\n"), end)


def is_branch(name: str) -> bool:
    """Whether this can be the name of a branch: a path below `refs/heads` that does not lead out of it."""
    parts = name.split("/")
    return len(name) <= LONGEST_BRANCH and not _NOT_IN_BRANCH.search(name) and not {"", ".", ".."} & set(parts)


def commit_of(text: str) -> str:
    """The commit in a file of git. Empty for all zeros, which mean none, and for what is no commit."""
    return text if _BARE.fullmatch(text) and text.strip("0") else ""


def moves_of(entries: Sequence[Entry], position: HeadPosition, begin: int, *, is_rebasing: bool) -> ToldMoves:
    """The moves of the entries after `begin`. Those of an unfinished rebase are left for later."""
    moves: list[GitMove] = []
    rebase: list[Entry] = []
    branches = _branches(entries, position)
    place = begin
    for entry, branch in zip(entries, branches, strict=True):
        found = _REBASE.match(entry.message)
        step = (found[1] or found[3]) if found else None
        if step == "start" or rebase:
            rebase.append(entry)
            if step in ("finish", "finished", "abort"):
                moves += _ended_rebase(rebase, branch, was_aborted=step == "abort")
                rebase, place = [], entry.end
            continue
        if step in ("finish", "finished"):
            moves.append(GitMove(GitEvent.REBASE, entry.old, entry.new, branch))
        else:
            moves += _move(entry, branch)
        place = entry.end
    if rebase and not is_rebasing:
        # It was aborted in a way that git does not write down.
        moves += _ended_rebase(rebase, position.branch, was_aborted=False)
        place = rebase[-1].end
    return ToldMoves(moves, place)


def moved_without_journal(before: HeadPosition, now: HeadPosition) -> list[GitMove]:
    """The move between two looks, if git keeps no journal, or has removed the part in question."""
    if before.branch != now.branch:
        return [GitMove(GitEvent.BRANCH, before.head, now.head, now.branch)]
    if before.head != now.head:
        return [GitMove(GitEvent.COMMIT, before.head, now.head, now.branch)]
    return []


def _branches(entries: Sequence[Entry], position: HeadPosition) -> list[str]:
    """The branch of each entry, found from the end by the switches between them."""
    branch, found = position.branch, []
    for entry in reversed(entries):
        switch = _CHECKOUT.match(entry.message)
        back = _RETURNING.search(entry.message) if _REBASE.match(entry.message) else None
        if back:
            branch = back[1]
        found.append(branch)
        if switch:
            branch = _name(switch[1])
    return found[::-1]


def _name(text: str) -> str:
    """The name of a branch. Empty for a commit."""
    return "" if _BARE.fullmatch(text) or not is_branch(text) else text


def _ended_rebase(entries: Sequence[Entry], branch: str, *, was_aborted: bool) -> list[GitMove]:
    old, new = entries[0].old, entries[-1].new
    return [] if was_aborted or old == new else [GitMove(GitEvent.REBASE, old, new, branch)]


def _move(entry: Entry, branch: str) -> list[GitMove]:
    message = entry.message
    if message.startswith("commit (merge)") or message.split(":")[0].split(" ")[0] in ("merge", "pull"):
        return [] if entry.old == entry.new else [GitMove(GitEvent.MERGE, entry.old, entry.new, branch)]
    if message.split(":")[0].split(" ")[0] in _COMMIT:
        return [GitMove(GitEvent.COMMIT, entry.old, entry.new, branch)]
    switch = _CHECKOUT.match(message)
    if entry.old == entry.new and (switch is None or switch[1] == switch[2]):
        return []
    return [GitMove(GitEvent.BRANCH, entry.old, entry.new, branch)]
