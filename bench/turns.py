"""This version and another one side by side, in short turns: `python -m bench.turns ../before claim pickup`.

Both are kept running, and measure the same for a moment, one after the other. A machine that becomes slower or faster
within a second does so for both. The other folder is a checkout of the other version. Each brings its own `bench`.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from contextlib import ExitStack, suppress
from pathlib import Path
from statistics import median
from typing import TypeVar

import msgspec

from bench import huey_turns, turn_taker
from bench.table import Table
from tests.postgres_server import running_postgres

HERE = Path(__file__).parents[1]
PEERS = {"single": huey_turns}  # measured beside both versions

T = TypeVar("T")


def main() -> None:
    """Parse the words, run, print."""
    parser = argparse.ArgumentParser(prog="python -m bench.turns", description=__doc__)
    parser.add_argument("before", type=Path, metavar="FOLDER", help="a checkout of the version to compare with")
    parser.add_argument(
        "only",
        nargs="+",
        choices=turn_taker.MEASUREMENTS,
        metavar="measurement",
        help=", ".join(turn_taker.MEASUREMENTS),
    )
    parser.add_argument("--turns", type=int, default=20, metavar="N", help="how many each version has (20)")
    words = parser.parse_args()
    if words.turns < 1:
        parser.error(f"--turns {words.turns} measures nothing: use 1 or more")
    if not (words.before / "bench" / "__main__.py").exists():
        parser.error(f"there is no checkout in {words.before}")
    for name in words.only:
        with ExitStack() as stack:
            url = stack.enter_context(running_postgres())
            sides = [stack.enter_context(Side(folder.resolve(), name, url)) for folder in (words.before, HERE)]
            if name in PEERS:
                sides.append(stack.enter_context(Side(HERE, name, url, PEERS[name].__file__)))
            print(compare(name, sides, words.turns).markdown(), flush=True)


def compare(name: str, sides: list[Side], turns: int) -> Table:
    """What each row takes, and how much quicker the second side is than the first, and than the third, if any."""
    rows = []
    for what in sides[0].rows:
        took: dict[Side, list[list[float]]] = {side: [] for side in sides}
        for number in range(turns):
            for side in sides if number % 2 == 0 else reversed(sides):
                took[side].append(side.take_turn(what))
        medians = [median(one for turn in took[side] for one in turn) for side in sides]
        figures = (f"{seconds * 1000:.3g} ms" for seconds in medians)
        before, now, *peers = took.values()
        ratios = [f"{_quicker(other, now):.2f} ×" for other in (before, *peers)]
        rows.append((what, *figures, f"{medians[0] / medians[1]:.2f} ×", *ratios))
    note = f"Medians over {turns} turns, and how both compare: by these medians, and turn by turn."
    heads: tuple[str, ...] = ("what", "before", "now", "medians", "turn by turn")
    if len(sides) > 2:
        heads = ("what", "before", "now", "Huey", "medians", "turn by turn", "to Huey")
    return Table(f"{name.replace('_', ' ').capitalize()}, in turns", note, rows, heads)


def _quicker(other: list[list[float]], now: list[list[float]]) -> float:
    """By how much, turn by turn."""
    return median(median(theirs) / median(ours) for theirs, ours in zip(other, now, strict=True))


class Side:
    """One version, kept running."""

    def __init__(self, folder: Path, name: str, postgres_url: str, program: str | None = turn_taker.__file__) -> None:
        self._folder = folder
        place = os.environ.get("HOLDFAST_BENCH_DIR")
        self._files = tempfile.TemporaryDirectory(dir=None if place is None else Path(place).resolve())
        paths = os.pathsep.join(map(str, (folder / "src", folder)))
        self._process = subprocess.Popen(
            [sys.executable, "-P", str(program), name, self._files.name, postgres_url],
            cwd=folder,
            env=os.environ | {"PYTHONPATH": paths, "HOLDFAST_PRESSURE": "off"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self.rows = self._answer(list[str])

    def __enter__(self) -> Side:
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(BrokenPipeError):
            self._process.communicate()
        self._files.cleanup()

    def take_turn(self, what: str) -> list[float]:
        """How long each one took, in seconds."""
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):  # Then there is no answer either.
            self._process.stdin.write(f"{what}\n".encode())
            self._process.stdin.flush()
        return self._answer(list[float])

    def _answer(self, kind: type[T]) -> T:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            self.__exit__()
            raise SystemExit(f"the measurement in {self._folder} ended early; what it printed is above")
        return msgspec.json.decode(line, type=kind)


if __name__ == "__main__":
    main()
