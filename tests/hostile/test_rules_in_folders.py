"""What a stranger puts into a watched folder does not keep the daemon from its work."""

from __future__ import annotations

from pathlib import Path

from tests.chaos.processes import until
from tests.daemon.house import House

RULES = "*a" * 14 + "b"
LONG = "a" * 255


def test_a_file_of_rules_does_not_freeze_the_daemon(house: House, tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (root / ".gitignore").write_text(RULES)
    (root / LONG).touch()
    daemon = house.up(app="indexer")
    hf = house.client()
    hf.add_watch(root, task="index", globs=["*a" * 14 + "b", "**/*a/" * 10 + "b", "after"])
    until(lambda: hf.watch("root").scanned_at is not None, "the first look is over")
    (root / "after").touch()
    until(lambda: hf.watch("root").jobs == 1, "a change is found")
    house.down(daemon)
    daemon = house.up(app="indexer")
    (root / "after").write_text("more")
    until(lambda: hf.watch("root").jobs == 2, "a change is found after a restart")
    house.down(daemon)
