"""This version against another one, round by round: `python -m bench.against ../before full_life drain --rounds 3`.

Each round runs one measurement in both folders, one after the other, so that a machine that becomes slower or faster
meanwhile does so for both. The other folder is a checkout of the other version.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from collections import defaultdict
from itertools import product
from pathlib import Path
from statistics import median

from bench.table import Table

HERE = Path(__file__).parents[1]
FIGURE = re.compile(r"(?P<number>[\d,.]+)\s*(?P<unit>[^\s,]*)")

RowFigures = dict[tuple[str, str], list[tuple[float, str]]]  # of each row, by the title of its table


def main() -> None:
    """Parse the words, run, print."""
    parser = argparse.ArgumentParser(prog="python -m bench.against", description=__doc__)
    parser.add_argument("before", type=Path, metavar="FOLDER", help="a checkout of the version to compare with")
    parser.add_argument("only", nargs="+", metavar="measurement", help="which, as `python -m bench` calls them")
    parser.add_argument("--rounds", type=int, default=3, metavar="N", help="how often each is run (3)")
    words = parser.parse_args()
    if not (words.before / "bench" / "__main__.py").exists():
        parser.error(f"there is no checkout in {words.before}")
    found: dict[Path, RowFigures] = {words.before.resolve(): defaultdict(list), HERE: defaultdict(list)}
    for name, number in product(words.only, range(words.rounds)):
        turns = list(found)
        for folder in turns if number % 2 == 0 else reversed(turns):
            for row, figure in figures(printed(folder, name)).items():
                found[folder][row].append(figure)
    before, now = found.values()
    for title in dict.fromkeys(title for title, _ in now):
        rows = [compared(what, before[title, what], now[title, what]) for at, what in now if at == title]
        note = f"Medians of {words.rounds} rounds, and how the medians and the best of them compare."
        print(Table(title, note, rows, ("what", "before", "now", "better by", "at best")).markdown(), flush=True)


def printed(folder: Path, name: str) -> str:
    """What a measurement prints in a folder."""
    print(f"{folder.name}: {name}", file=sys.stderr, flush=True)
    return subprocess.run(
        [sys.executable, "-m", "bench", name],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": f"{folder / 'src'}{os.pathsep}{folder}"},
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    ).stdout


def figures(text: str) -> dict[tuple[str, str], tuple[float, str]]:
    """The first number of each row, with its unit, by the title of its table and what the row measures."""
    found: dict[tuple[str, str], tuple[float, str]] = {}
    title = ""
    for line in text.splitlines():
        if line.startswith("## "):
            title = line.removeprefix("## ")
        cells = [cell.strip() for cell in line.split("|")[1:-1]]
        figure = FIGURE.search(cells[1].replace("p50 ", "")) if len(cells) > 1 else None
        if figure is not None:
            found[title, cells[0]] = float(figure["number"].strip(",.").replace(",", "")), figure["unit"]
    return found


def compared(what: str, before: list[tuple[float, str]], now: list[tuple[float, str]]) -> tuple[str, ...]:
    """A row of the answer. More is better of what is counted in a second, less of all else."""
    unit = now[0][1]
    old, new = ([figure for figure, _ in figures] for figures in (before, now))
    if not old:
        return what, "", f"{median(new):,g} {unit}", "", ""
    best = max if unit == "/s" else min
    ratios = [(middle(new) / middle(old)) ** (1 if unit == "/s" else -1) for middle in (median, best)]
    return what, f"{median(old):,g} {unit}", f"{median(new):,g} {unit}", *(f"{ratio:.2f} ×" for ratio in ratios)


if __name__ == "__main__":
    main()
