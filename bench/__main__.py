"""Run the measurements and print the tables: `make bench`, or `python -m bench full_life drain`."""

from __future__ import annotations

import argparse
import os
import platform
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import apsw

from bench import (
    apps,
    claiming,
    command_line,
    draining,
    enqueuing,
    full_life,
    log_lines,
    memory,
    pickup,
    recovering,
    through_daemon,
    vacuuming,
    waiting,
    watching,
    workspaces,
)
from bench.peers import comparing
from bench.table import Place, Table
from tests.postgres_server import running_postgres

MEASUREMENTS: dict[str, Callable[[Place], Table]] = {
    "full_life": full_life.measure,
    "drain": draining.measure,
    "log": log_lines.measure,
    "enqueue": enqueuing.measure,
    "claim": claiming.measure,
    "waiting": waiting.measure,
    "recover": recovering.measure,
    "pickup": pickup.measure,
    "apps": apps.measure,
    "workspaces": workspaces.measure,
    "memory": memory.measure,
    "daemon": through_daemon.measure,
    "watch": watching.measure,
    "vacuum": vacuuming.measure,
    "cli": command_line.measure,
    "peers": comparing.measure,
}
# Takes minutes, and at first downloads what it compares with.
SLOW = ("peers",)


def main() -> None:
    """Parse the words, run, print."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument(
        "only", nargs="*", metavar="measurement", help=f"which: {', '.join(MEASUREMENTS)} (default: all but the slow)"
    )
    parser.add_argument("--all", action="store_true", help=f"also the slow: {', '.join(SLOW)}")
    parser.add_argument("--write", metavar="FILE", type=Path, help="also put the tables into this Markdown file")
    words = parser.parse_args()
    # It is we who make the machine busy; what is measured must not step back for that.
    os.environ["HOLDFAST_PRESSURE"] = "off"
    unknown = sorted(set(words.only) - set(MEASUREMENTS))
    if unknown:
        parser.error(f"there is no measurement {unknown[0]!r}; choose from {', '.join(MEASUREMENTS)}")
    tables = []
    print(_heading(), flush=True)
    with tempfile.TemporaryDirectory(dir=os.environ.get("HOLDFAST_BENCH_DIR")) as folder, running_postgres() as url:
        for name in words.only or [name for name in MEASUREMENTS if words.all or name not in SLOW]:
            table = MEASUREMENTS[name](Place(Path(folder), url)).markdown()
            print(table, flush=True)
            tables.append(table)
    if words.write:
        old = words.write.read_text("utf-8") if words.write.exists() else ""
        words.write.write_text("\n".join([_heading(), *with_tables(old, tables)]), "utf-8")


def with_tables(old: str, tables: list[str]) -> list[str]:
    """The sections of an earlier run, those that were measured again in their old places, and behind them new ones."""
    sections = ["\n## " + section.rstrip("\n") + "\n" for section in old.split("\n## ")[1:]]
    return list(({_title(part): part for part in sections} | {_title(part): part for part in tables}).values())


def _title(section: str) -> str:
    return section.lstrip().partition("\n")[0]


def _heading() -> str:
    return (
        "# Benchmarks\n\n"
        "Made by `make bench`. Compare the ratios, which come from one run on one machine; absolute numbers are its "
        "own.\n\n"
        f"Python {platform.python_version()}, SQLite {apsw.sqlite_lib_version()}, {os.cpu_count()} cores, "
        f"{sys.platform}. Full durability (`synchronous=FULL`, PostgreSQL `synchronous_commit=on`) unless a row says "
        "otherwise.\n"
    )


if __name__ == "__main__":
    main()
