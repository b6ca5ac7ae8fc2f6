"""From shell to prompt: how long a short command takes, beside a Python that does nothing."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from bench.table import Place, Table, p, percentiles
from bench.through_daemon import client, running_daemon
from holdfast.wire.home import HOME

TIMES = 40
JOBS = 20
LIMIT_S = 0.2
HOLDFAST = str(Path(sys.executable).with_name("holdfast"))


def measure(place: Place) -> Table:
    """Each in turn, so that whatever else the machine does touches all of them alike."""
    commands = {
        "python -c pass": [sys.executable, "-c", "pass"],
        "holdfast ls": [HOLDFAST, "ls"],
        "holdfast show 1": [HOLDFAST, "show", "1"],
        "holdfast --help": [HOLDFAST, "--help"],
    }
    took: dict[str, list[float]] = {name: [] for name in commands}
    with running_daemon(place, workers=False) as home:
        hf, noop, _ = client(home)
        noop.enqueue_many([{}] * JOBS)
        environment = {**os.environ, HOME: str(home.folder)}
        for _ in range(TIMES):
            for name, command in commands.items():
                took[name].append(_seconds(command, environment))
        hf.close()
    empty = p(took["python -c pass"], 50)
    rows = [("python -c pass", percentiles(took.pop("python -c pass")), "")]
    for name, times in took.items():
        compared = f"p95 {p(times, 95) / LIMIT_S:.0%} of 200 ms; {(p(times, 50) - empty) * 1000:.0f} ms are ours"
        rows.append((name, percentiles(times), compared))
    return Table(
        "Command line", f"From the start of the process to its end, {TIMES} times; {JOBS} jobs in the list.", rows
    )


def _seconds(command: list[str], environment: dict[str, str]) -> float:
    began = time.perf_counter()
    subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - began
