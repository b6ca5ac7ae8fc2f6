"""What workers exchange with the store, and what runs leave behind."""

from __future__ import annotations

from msgspec import Struct

from holdfast.core.job import JobId, RunId
from holdfast.core.jobs.requests import Claimed, Settled


class Progress(Struct, frozen=True):
    """How far a run has come."""

    job_id: JobId
    run_id: RunId
    fraction: float
    text: str | None


class StopRequest(Struct, frozen=True):
    """A running job that should stop, and why: `cancel` or `superseded`; with `yield` it may also go on."""

    run_id: RunId
    stop_reason: str

    @property
    def is_wish(self) -> bool:
        """Whether the run may go on all the same."""
        return self.stop_reason == "yield"


class Exchange(Struct, frozen=True):
    """The answer to a worker."""

    settled: list[Settled]
    claimed: list[Claimed]
    stops: list[StopRequest]


class LogPart(Struct, frozen=True):
    """A piece of a run's log. `eof`: the run has ended and nothing comes behind this piece."""

    run_id: RunId | None
    attempt: int | None
    offset: int
    data: bytes
    end: int
    eof: bool


class ArtifactPart(Struct, frozen=True):
    """A piece of an artifact: where it begins, its bytes, and how large the artifact is."""

    offset: int
    data: bytes
    size: int


class Artifact(Struct, frozen=True, omit_defaults=True, repr_omit_defaults=True):
    """A file that a job made. `more`: the list ends here, but there are more files, or folders that were not read."""

    name: str
    size: int
    more: bool = False
