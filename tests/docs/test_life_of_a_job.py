"""The diagram of a job's life shows every arrow that the code allows, by its name, and explains each."""

from __future__ import annotations

import re
from pathlib import Path

from holdfast.core.job import TRANSITIONS, Move

PAGE = (Path(__file__).parents[2] / "docs" / "concepts" / "life-of-a-job.md").read_text()


def test_the_diagram_has_every_arrow_and_no_other() -> None:
    arrows = re.findall(r"^    (\w+) --> (\w+): (.+)$", PAGE, re.MULTILINE)
    assert set(arrows) == {(start, end, move) for (start, move), end in TRANSITIONS.items()}
    assert len(arrows) == len(TRANSITIONS)


def test_every_arrow_is_explained() -> None:
    assert [move for move in Move if f"\n| {move} | " not in PAGE] == []
