"""Calls that are more than a script: they wait, they stream, or they are about the daemon itself.

Each is written down as a function that only says its shape; the API has the doing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from holdfast.core.access import ANYBODY, Role
from holdfast.core.job import Job, JobId, RunId
from holdfast.core.requests import ClaimRequest, Report
from holdfast.store.engine import Changes
from holdfast.store.scripts.exchange import Exchange
from holdfast.store.scripts.progress import Progress
from holdfast.wire.call import Call
from holdfast.wire.status import DaemonStatus

EVENTS = "text/event-stream"
BYTES = "application/octet-stream"
PLAIN = "text/plain; charset=utf-8"
METRICS = "text/plain; version=0.0.4; charset=utf-8"


class Hello(Struct, frozen=True):
    """How the daemon introduces itself: its version, the protocol it speaks, its machine and its folders there.

    A worker that is silent for `lease_ms` counts as hung or gone; three beats in that time are a good measure. A run
    that takes no notice of being asked to stop for `stuck_ms` is reason enough to replace its worker.
    """

    version: str
    protocol: int
    node: str
    pid: int
    locks: str
    files: str
    node_id: str = ""
    boot_id: str = ""
    dialect: str = ""
    lease_ms: int = 30_000
    stuck_ms: int = 30_000


class Health(Struct, frozen=True, omit_defaults=True):
    """How the daemon is. `refuses` says why its machine takes in no new jobs, if that is so."""

    status: str
    refuses: str | None = None


def wait(_: None, job_id: JobId, timeout_ms: int = 30_000) -> Job:
    """The job once it has ended, or as it is when the time is over. In a retry chain, the last link."""
    raise NotImplementedError


def exchange_wait(
    _: None,
    reports: Sequence[Report],
    progress: Sequence[Progress],
    request: ClaimRequest,
    holds: Sequence[RunId] | None,
    timeout_ms: int = 30_000,
) -> Exchange:
    """An exchange that is answered once there is something to say. What it reports is written at its beginning."""
    raise NotImplementedError


def changes(_: None) -> Changes:
    """What commits change, as server-sent events: each `data:` line is a JSON object.

    `ready` names queues that may have work, `ended` jobs that have ended. `unknown`: look for yourself. The first line
    is `: hello`; a line that begins with `:` comes at least every 15 seconds. A slow reader is told less, not later.
    """
    raise NotImplementedError


def run_log(
    _: None,
    run_id: RunId,
    offset: int = 0,
    limit: int = 1 << 20,
    tail: int | None = None,
    lines: int | None = None,
    follow: bool = False,
) -> bytes:
    """The log of a run from a byte on; its last `tail` bytes or `lines`; with `follow`, until the run has ended.

    The headers say where it really begins (`Holdfast-Offset`; the oldest part may be gone), where to go on
    (`Holdfast-Next-Offset`) and whether nothing can come behind that (`Holdfast-Eof`). With `follow`, the end of the
    answer is the end of the log.
    """
    raise NotImplementedError


def artifact(_: None, job_id: JobId, name: str) -> bytes:
    """A file that a job has made."""
    raise NotImplementedError


def hello(_: None, protocol: int = 1) -> Hello:
    """Who answers, and what it speaks with a caller that speaks this protocol: the newest one that both know.

    Protocol 1 knows no secrets of sessions.
    """
    raise NotImplementedError


def daemon(_: None) -> DaemonStatus:
    """Who the daemon is, since when, where it keeps what, and how the workers are that it keeps."""
    raise NotImplementedError


def livez(_: None) -> Health:
    """Whether the daemon lives."""
    raise NotImplementedError


def readyz(_: None) -> Health:
    """Whether the daemon takes calls; 503 says why it does not, to callers on the socket or with a token.

    It is ready while its machine refuses new jobs, since all else works; `refuses` says so then.
    """
    raise NotImplementedError


def metrics(_: None) -> bytes:
    """The metrics of this moment, for Prometheus."""
    raise NotImplementedError


def openapi(_: None) -> dict[str, Any]:
    """This description."""
    raise NotImplementedError


WAIT = Call(Role.READ, "jobs", "GET", "/v1/jobs/{job_id}/wait", wait)
EXCHANGE_WAIT = Call(Role.OPERATE, "workers", "POST", "/v1/exchange/wait", exchange_wait, in_query=("timeout_ms",))
CHANGES = Call(Role.READ, "system", "GET", "/v1/changes", changes, media=EVENTS)
RUN_LOG = Call(Role.READ, "runs", "GET", "/v1/runs/{run_id}/log", run_log, media=PLAIN)
ARTIFACT = Call(Role.READ, "jobs", "GET", "/v1/jobs/{job_id}/artifacts/{name:path}", artifact, media=BYTES)
HELLO = Call(Role.READ, "system", "GET", "/v1/hello", hello)
DAEMON = Call(Role.READ, "system", "GET", "/v1/daemon", daemon)
LIVEZ = Call(ANYBODY, "system", "GET", "/livez", livez)
READYZ = Call(ANYBODY, "system", "GET", "/readyz", readyz)
METRICS_TEXT = Call(Role.METRICS, "system", "GET", "/metrics", metrics, media=METRICS)
OPENAPI = Call(Role.READ, "system", "GET", "/openapi.json", openapi)

EXTRAS: tuple[Call, ...] = (
    WAIT,
    EXCHANGE_WAIT,
    CHANGES,
    RUN_LOG,
    ARTIFACT,
    HELLO,
    DAEMON,
    LIVEZ,
    READYZ,
    METRICS_TEXT,
    OPENAPI,
)
