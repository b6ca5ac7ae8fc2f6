"""Asks a daemon for work at a steady pace, and looks at it as people do, until the file `stop` is there.

Says how many jobs were acknowledged, how many calls failed, and how many were refused for want of room.
"""

from __future__ import annotations

import os
import random
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from holdfast import HoldfastError
from tests.soak.programs import soak_app as app

SIDE = Path(os.environ["HOLDFAST_TEST_SIDE"])
seed, pace = int(sys.argv[1]), float(sys.argv[2])
rng = random.Random(seed)
counts: Counter[str] = Counter()
TENANTS = ("default", "ann", "bob")


def put(task: Any, **arguments: Any) -> None:
    options = {"tenant": rng.choice(TENANTS), "priority": rng.choice((0, 0, 5))}
    handle = task.options(**options).enqueue(**arguments)
    counts["acked"] += 1
    if rng.random() < 0.02:
        handle.why()
    if rng.random() < 0.02:
        handle.wait(timeout=60)


def flood() -> None:
    app.counting.options(tenant=rng.choice(TENANTS)).enqueue_many([{"n": n} for n in range(50)])
    counts["acked"] += 50


def command() -> None:
    app.hf.command(sys.executable, "-I", "-S", "-c", "print('x' * 5000)")
    counts["acked"] += 1


def look() -> None:
    app.hf.counts()
    app.hf.jobs(limit=20)


KINDS: tuple[tuple[int, Callable[[], Any]], ...] = (
    (60, lambda: put(app.quick, n=rng.randrange(99))),
    (10, lambda: put(app.counting, n=1_000)),
    (5, lambda: put(app.slow)),
    (8, lambda: put(app.flaky, n=rng.randrange(99))),
    (10, lambda: put(app.edit, file=rng.randrange(5))),
    (4, lambda: put(app.napping)),
    (2, look),
    (1, flood),
    (1, command),
    (1, lambda: app.hf.emit("soak:event", n=rng.randrange(9))),
)
weights, deeds = zip(*KINDS, strict=True)
began, done = time.monotonic(), 0
while not (SIDE / "stop").exists():
    try:
        rng.choices(deeds, weights)[0]()
    except HoldfastError as error:
        counts[error.code] += 1
    done += 1
    # A steady pace: what took long is made up for, but not by more than a second's work.
    began = max(began, time.monotonic() - (done + pace) / pace)
    time.sleep(max(0.0, began + done / pace - time.monotonic()))
(SIDE / f"client-{seed}.json").write_bytes(msgspec.json.encode(counts))
app.hf.close()
