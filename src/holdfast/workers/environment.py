"""The environment of a command: little of the worker's own, what the job says, and who it is."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from holdfast.core.requests import Claimed
from holdfast.observe import trace
from holdfast.runtime.processes import RUN_VARIABLE
from holdfast.store.engine import Engine
from holdfast.wire.home import HOME, Address

KEPT = ("PATH", "HOME", "USER", "LANG", "TERM")


def clean(own: Mapping[str, str]) -> dict[str, str]:
    """What is kept of this process's environment, and the job's own variables over it."""
    return {name: os.environ[name] for name in KEPT if name in os.environ} | dict(own)


def home_of(engine: Engine) -> dict[str, str]:
    """What lets a program behind a daemon find that daemon: its home folder, if it is one of this machine."""
    address = getattr(engine, "address", None)
    return {HOME: str(Path(address.socket).parent)} if isinstance(address, Address) and address.socket else {}


def identity(claimed: Claimed, artifacts: Path) -> dict[str, str]:
    """What tells a program which run it is, where to put artifacts, and which trace it goes on with."""
    span = trace.of_run(claimed.trace_id or claimed.job_id, claimed.job_id, claimed.run_id)
    return {
        RUN_VARIABLE: claimed.run_id,
        "HOLDFAST_JOB_ID": claimed.job_id,
        "HOLDFAST_JOB_NUMBER": str(claimed.number),
        "HOLDFAST_ARTIFACTS": str(artifacts),
        "TRACEPARENT": span.header,
    }
