"""What users hold on to stays: names, signatures, fields and words may be added, none may go."""

from __future__ import annotations

from pathlib import Path

from tests.surface.reading import missing, read, surface, written

PROMISED = Path(__file__).with_name("promised.txt")


def test_nothing_that_users_hold_on_to_is_gone() -> None:
    assert missing(read(PROMISED.read_text()), surface()) == []


def test_what_is_gone_is_named_with_its_place() -> None:
    promised = {"python holdfast.Job": {"queue", "tag"}, "command line ls": {"--queue"}}
    assert missing(promised, {"python holdfast.Job": {"queue"}}) == [
        "python holdfast.Job: tag",
        "command line ls: --queue",
    ]


def test_what_was_written_down_is_read_as_it_was() -> None:
    there = surface()
    assert read(written(there)) == there
