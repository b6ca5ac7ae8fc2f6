"""The environment of a command: a few variables of the worker, those of the job, and those that identify the run."""

from __future__ import annotations

import os
from pathlib import Path

from holdfast.core.jobs.requests import Claimed
from holdfast.observe import trace
from holdfast.runtime.sessions.processes import RUN_VARIABLE
from holdfast.store.engine import Engine
from holdfast.wire.home import HOME

KEPT = ("PATH", "HOME", "USER", "LANG", "TERM")


def kept_variables() -> dict[str, str]:
    """The variables that a command has from this process."""
    return {name: os.environ[name] for name in KEPT if name in os.environ}


def home_of(engine: Engine) -> dict[str, str]:
    """The variable by which a program finds the daemon: its home folder, if that is on this machine."""
    home = None if engine.daemon is None else engine.daemon.home
    return {} if home is None else {HOME: str(home)}


def identity(claimed: Claimed, artifacts: Path) -> dict[str, str]:
    """The variables that tell a program its run, its folder for artifacts, and its trace."""
    span = trace.of_run(claimed.trace_id or claimed.job_id, claimed.job_id, claimed.run_id)
    return {
        RUN_VARIABLE: claimed.run_id,
        "HOLDFAST_JOB_ID": claimed.job_id,
        "HOLDFAST_JOB_NUMBER": str(claimed.number),
        "HOLDFAST_ARTIFACTS": str(artifacts),
        "TRACEPARENT": span.header,
    }
