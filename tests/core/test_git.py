"""What the journal of a git repository tells: one move for each thing that a person did."""

from __future__ import annotations

from holdfast.core.watching.git import (
    Entry,
    GitEvent,
    GitMove,
    HeadPosition,
    moved_without_journal,
    moves_of,
    parse_entry,
)

A, B, C, D = (letter * 40 for letter in "abcd")
ON_MAIN = HeadPosition(D, "main")


def entries(*steps: tuple[str, str, str]) -> list[Entry]:
    return [Entry(old, new, message, 100 * number) for number, (old, new, message) in enumerate(steps, 1)]


def moves(*steps: tuple[str, str, str], position: HeadPosition = ON_MAIN) -> list[GitMove]:
    return moves_of(entries(*steps), position, 0, is_rebasing=False).moves


def test_a_line_of_the_journal_is_read() -> None:
    line = f"{'0' * 40} {A} Me <me@example.org> 1700000000 +0000\tcommit (initial): first\n"
    assert parse_entry(line, 7) == Entry("", A, "commit (initial): first", 7)
    assert parse_entry("nonsense\n", 7) is None


def test_commits_of_all_kinds_are_commits() -> None:
    messages = ("commit: x", "commit (initial): x", "commit (amend): x", "cherry-pick: x", "revert: x", "am: x")
    for message in messages:
        assert moves((A, B, message)) == [GitMove(GitEvent.COMMIT, A, B, "main")], message


def test_merges_of_all_kinds_are_merges() -> None:
    for message in (
        "merge topic: Fast-forward",
        "commit (merge): x",
        "pull: Fast-forward",
        "pull origin main: Merge made",
    ):
        assert moves((A, B, message)) == [GitMove(GitEvent.MERGE, A, B, "main")], message


def test_a_switch_is_one_even_if_the_commit_stays_and_tells_the_branches() -> None:
    found = moves((A, B, "commit: x"), (B, B, "checkout: moving from topic to main"), (B, C, "commit: y"))
    assert [(move.event, move.branch) for move in found] == [
        (GitEvent.COMMIT, "topic"),
        (GitEvent.BRANCH, "main"),
        (GitEvent.COMMIT, "main"),
    ]


def test_a_reset_that_moves_is_a_switch_and_one_that_does_not_is_nothing() -> None:
    assert moves((A, B, "reset: moving to HEAD~1")) == [GitMove(GitEvent.BRANCH, A, B, "main")]
    assert moves((A, A, "reset: moving to HEAD")) == []


REBASE = (
    (A, B, "rebase (start): checkout main"),
    (B, C, "rebase (pick): one"),
    (C, D, "rebase (pick): two"),
    (D, D, "rebase (finish): returning to refs/heads/topic"),
)


def test_a_rebase_is_one_move() -> None:
    assert moves(*REBASE, position=HeadPosition(D, "topic")) == [GitMove(GitEvent.REBASE, A, D, "topic")]


def test_a_pull_that_rebases_is_a_rebase() -> None:
    steps = tuple((old, new, message.replace("rebase", "pull --rebase origin main")) for old, new, message in REBASE)
    assert moves(*steps, position=HeadPosition(D, "topic")) == [GitMove(GitEvent.REBASE, A, D, "topic")]


def test_a_rebase_that_was_given_up_is_nothing() -> None:
    assert moves(REBASE[0], (B, A, "rebase (abort): returning to refs/heads/topic")) == []


def test_a_rebase_that_goes_on_is_left_for_later() -> None:
    told = moves_of(entries((A, A, "commit: x"), *REBASE[:3]), HeadPosition(D, ""), 0, is_rebasing=True)
    assert [move.event for move in told.moves] == [GitEvent.COMMIT]
    assert told.end == 100


def test_a_rebase_without_a_last_line_is_told_when_it_is_over() -> None:
    told = moves_of(entries(*REBASE[:3]), HeadPosition(D, "topic"), 0, is_rebasing=False)
    assert told.moves == [GitMove(GitEvent.REBASE, A, D, "topic")]
    assert told.end == 300


def test_without_a_journal_the_difference_must_do() -> None:
    before = HeadPosition(A, "main")
    assert moved_without_journal(before, before) == []
    assert moved_without_journal(before, HeadPosition(B, "main")) == [GitMove(GitEvent.COMMIT, A, B, "main")]
    assert moved_without_journal(before, HeadPosition(A, "topic")) == [GitMove(GitEvent.BRANCH, A, A, "topic")]
