"""What an idle embedded instance costs."""

from __future__ import annotations

import subprocess
import sys

from bench.table import Place, Table

PROGRAM = """
import psutil, sys, time
me = psutil.Process()
before = me.memory_info().rss
from holdfast import Holdfast
imported = me.memory_info().rss
hf = Holdfast(sys.argv[1], schema=sys.argv[2])
@hf.task
async def noop() -> None: ...
with hf:
    noop.enqueue().result(10)
    cpu = sum(me.cpu_times()[:2])
    time.sleep(5)
    cpu = sum(me.cpu_times()[:2]) - cpu
    print(before, imported - before, me.memory_info().rss - imported, cpu / 5)
"""


def measure(place: Place) -> Table:
    """Resident memory over a bare interpreter, and processor time while nothing happens."""
    rows = []
    for name, url, schema in (
        ("SQLite", place.new_file(), "-"),
        ("PostgreSQL", place.postgres_url, place.new_schema()),
    ):
        said = subprocess.run(
            [sys.executable, "-c", PROGRAM, url, schema if schema != "-" else "holdfast"],
            check=True,
            capture_output=True,
            text=True,
        ).stdout.split()
        before, imported, running, cpu = (float(word) for word in said)
        rows.append((f"import, {name}", f"{imported / 2**20:.1f} MiB", f"{imported / before:.1f} × a bare interpreter"))
        rows.append((f"running idle, {name}", f"{running / 2**20:.1f} MiB more", f"{cpu:.2%} of one core"))
    return Table("An idle embedded instance", "Resident memory after one job, then five idle seconds.", rows)
