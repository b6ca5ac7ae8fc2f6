"""What a stranger puts into a watched folder does not keep the daemon from its work."""

from __future__ import annotations

from pathlib import Path

import psutil

from tests.chaos.processes import until
from tests.daemon.house import House

RULES = "*a" * 14 + "b"
LONG = "a" * 255
FOLDERS = 150
MOST_MEMORY = 100 << 20


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


def test_files_of_rules_in_many_folders_take_little_memory(house: House, tmp_path: Path) -> None:
    root = tmp_path / "root"
    for number in range(FOLDERS):
        folder = root / str(number)
        folder.mkdir(parents=True)
        (folder / ".gitignore").write_text(f"# {number}\n" + "".join(f"*a{rule}*b{rule}\n" for rule in range(9_999)))
    daemon = house.up(app="indexer")
    before = psutil.Process(daemon.pid).memory_info().rss
    hf = house.client()
    hf.add_watch(root, task="index")
    until(lambda: hf.watch("root").scanned_at is not None, "the first look is over")
    assert psutil.Process(daemon.pid).memory_info().rss - before < MOST_MEMORY
    trouble = hf.watch("root").problem or ""
    assert f".gitignore and {FOLDERS - 3} more is left out, all of it or its end" in trouble
    assert "count up to 20000 rules together" in trouble
    house.down(daemon)
