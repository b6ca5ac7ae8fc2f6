"""Holdfast: one coroutine worker beside the daemon, both reached through its socket; `store` is the daemon's home."""

from __future__ import annotations

import os
import sys

os.environ["HOLDFAST_HOME"] = os.environ["PEER_STORE"]

from bench.peers.protocol import Caller, marks, play
from holdfast import Holdfast, StateName

UNFINISHED = (StateName.QUEUED, StateName.RUNNING)
hf = Holdfast(concurrency=100)


@hf.task(name="noop")
async def noop() -> None:
    """Nothing."""
    marks.job()


def work() -> None:
    """`holdfast worker`, which loads this file again, as its app."""
    os.execv(sys.executable, [sys.executable, "-m", "holdfast.cli", "worker", "--app", f"{__file__}:hf"])


def caller() -> Caller:
    """Another program on the same machine."""
    return Caller(
        enqueue=noop.enqueue,
        enqueue_many=lambda count: noop.enqueue_many([{}] * count),
        unfinished=lambda: sum(hf.counts().get("default", {}).get(state, 0) for state in UNFINISHED),
    )


if __name__ == "__main__":
    play(work, caller)
else:
    marks.ready()
