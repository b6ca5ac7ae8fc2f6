"""Calls that are more than a script: they wait, they stream, or they are about the daemon itself.

This is what they take and return. What they do is in the API.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from msgspec import Struct

from holdfast.core.access import ANYBODY, Role
from holdfast.core.job import JobId, RunId
from holdfast.core.jobs.requests import ClaimRequest, Report
from holdfast.core.jobs.stored_job import Job
from holdfast.core.messages.runs import Exchange, Progress
from holdfast.observe.sla import Latency
from holdfast.wire import preparation
from holdfast.wire.call import WORKERS, ApiCall
from holdfast.wire.status import DaemonStatus
from holdfast.wire.told_changes import ToldChanges

EVENTS = "text/event-stream"
BYTES = "application/octet-stream"
PLAIN = "text/plain; charset=utf-8"
METRICS = "text/plain; version=0.0.4; charset=utf-8"
LOG_HEADERS = {
    "Holdfast-Offset": ("integer", "Where the answer begins in the log."),
    "Holdfast-Next-Offset": ("integer", "Where to go on; not with `follow`."),
    "Holdfast-Eof": ("boolean", "Whether nothing can come behind that; not with `follow`."),
}


class Hello(Struct, frozen=True):
    """What the daemon says of itself: its version, the protocol it speaks, its machine and its folders there.

    A worker that is silent for `lease_ms` counts as hung or gone; three heartbeats in that time are a good measure. A
    worker is replaced if one of its runs ignores a request to stop for `stuck_ms`. `tcp` is its address besides the
    socket; only the file in its home has it.
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
    tcp: str | None = None


class Health(Struct, frozen=True, omit_defaults=True):
    """The health of the daemon. `refuses` says why its machine takes no new jobs, if that is so."""

    status: str
    refuses: str | None = None


class SpecialCalls(Protocol):
    """The shapes of these calls."""

    def wait(self, job_id: JobId, timeout_ms: int = 30_000) -> Job:
        """The job once it has ended, or as it is when the time is over. In a retry chain, the last link."""

    def exchange_wait(
        self,
        reports: Sequence[Report],
        progress: Sequence[Progress],
        request: ClaimRequest,
        holds: Sequence[RunId] | None,
        timeout_ms: int = 30_000,
    ) -> Exchange:
        """An exchange that is answered once there is something to say. What it reports is written at its beginning."""

    def changes(self, tasks: tuple[str, ...] = ()) -> ToldChanges:
        """What commits change, as server-sent events: each `data:` line is a JSON object.

        `ready` names queues that may have work, `ended` jobs that have ended. `unknown`: look for yourself. The first
        line is `: hello`; a line that begins with `:` comes at least every 15 seconds. A slow reader is told less, not
        later.

        `tasks` may stand several times. Then only what may concern a worker of these tasks is told: a job of another
        task that is simply new is not, nor is the end of a job.
        """

    def run_log(
        self,
        run_id: RunId,
        offset: int = 0,
        limit: int = 1 << 20,
        tail: int | None = None,
        lines: int | None = None,
        follow: bool = False,
    ) -> bytes:
        """The log of a run from a byte on; its last `tail` bytes or `lines`; with `follow`, until the run has ended.

        The headers say where it really begins (`Holdfast-Offset`; the oldest part may be gone), where to go on
        (`Holdfast-Next-Offset`) and whether nothing can come behind that (`Holdfast-Eof`). With `follow`, the end of
        the answer is the end of the log.
        """

    def artifact(self, job_id: JobId, name: str) -> bytes:
        """A file that a job has made."""

    def hello(self, protocol: int = 1) -> Hello:
        """What answers, and the protocol that it speaks with this caller: the newest one that both know.

        Protocol 1 knows no secrets of sessions.
        """

    def daemon(self) -> DaemonStatus:
        """What the daemon is, since when it runs, where its files are, and how its workers are."""

    def livez(self) -> Health:
        """Whether the daemon answers."""

    def readyz(self) -> Health:
        """Whether the daemon takes calls; 503 says why it does not, to callers on the socket or with a token.

        It is ready while its machine refuses new jobs, since all else works; `refuses` says so then.
        """

    def metrics(self) -> bytes:
        """The metrics of this moment, for Prometheus."""

    def openapi(self) -> dict[str, Any]:
        """This description."""


WAIT = ApiCall(Role.READ, "jobs", "GET", "/v1/jobs/{job_id}/wait", SpecialCalls.wait, is_long=True)
EXCHANGE_WAIT = ApiCall(
    Role.OPERATE,
    WORKERS,
    "POST",
    "/v1/exchange/wait",
    SpecialCalls.exchange_wait,
    in_query=("timeout_ms",),
    prepare=preparation.reports,
    is_long=True,
    is_quiet=True,
    gives_jobs=True,
)
CHANGES = ApiCall(Role.READ, "system", "GET", "/v1/changes", SpecialCalls.changes, media=EVENTS, is_long=True)
RUN_LOG = ApiCall(
    Role.READ,
    "runs",
    "GET",
    "/v1/runs/{run_id}/log",
    SpecialCalls.run_log,
    media=PLAIN,
    headers=LOG_HEADERS,
    is_long=True,
)
ARTIFACT = ApiCall(
    Role.READ,
    "jobs",
    "GET",
    "/v1/jobs/{job_id}/artifacts/{name:path}",
    SpecialCalls.artifact,
    media=BYTES,
    is_long=True,
)
HELLO = ApiCall(Role.READ, "system", "GET", "/v1/hello", SpecialCalls.hello, promise=Latency.LOOK)
DAEMON = ApiCall(Role.READ, "system", "GET", "/v1/daemon", SpecialCalls.daemon)
LIVEZ = ApiCall(ANYBODY, "system", "GET", "/livez", SpecialCalls.livez, promise=Latency.LOOK, is_quiet=True)
READYZ = ApiCall(ANYBODY, "system", "GET", "/readyz", SpecialCalls.readyz, promise=Latency.LOOK, is_quiet=True)
METRICS_TEXT = ApiCall(Role.METRICS, "system", "GET", "/metrics", SpecialCalls.metrics, media=METRICS)
OPENAPI = ApiCall(Role.READ, "system", "GET", "/openapi.json", SpecialCalls.openapi)

SPECIAL_CALLS: tuple[ApiCall, ...] = (
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
