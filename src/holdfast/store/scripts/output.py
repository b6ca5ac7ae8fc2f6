"""What runs say and make: their logs and artifacts, found by job. Read where the files are, beside the database."""

from __future__ import annotations

import msgspec
from msgspec import Struct

from holdfast.core.errors import Elsewhere, NotFound
from holdfast.core.job import TERMINAL, JobId, RunId
from holdfast.core.limits import check_int
from holdfast.core.run import Run
from holdfast.store.engine import Engine, Tx
from holdfast.store.files import Artifact, Excerpt, JobFiles
from holdfast.store.scripts.look import find_last, find_run, runs_of
from holdfast.store.statements import sql

LONGEST_PIECE = 1 << 20
MOST_LINES = 10_000


class LogPart(Struct, frozen=True):
    """A piece of a run's log. `eof`: the run has ended and nothing comes behind this piece."""

    run_id: RunId | None
    attempt: int | None
    offset: int
    data: bytes
    end: int
    eof: bool


class RunPlace(Struct, frozen=True):
    """The machine that a run was on: its id, and its name for people."""

    id: str
    name: str


class Source(Struct, frozen=True):
    """The run whose log is meant, if there is one yet, where it ran, and whether nothing can be added to it."""

    run: Run | None
    has_ended: bool
    place: RunPlace | None = None


class Located(Struct, frozen=True):
    """A run and the machine it ran on, if that is known."""

    run: Run
    place: RunPlace | None

    def check_here(self, what: str, here: str) -> None:
        """Elsewhere, if what is not here may be on the machine that the run was on."""
        if self.place is not None and self.place.id != here:
            raise Elsewhere(f"{what} of run {self.run.id} is on node {self.place.name!r}: ask the daemon there")

    def check_log_here(self, found: Excerpt, here: str) -> None:
        """The same for a log of which nothing was found, unless the run ended without having one."""
        if found.end == 0 and (self.run.status is None or self.run.log_path is not None):
            self.check_here("the log", here)


def read_log(
    engine: Engine, job_id: JobId, run_id: RunId | None = None, offset: int = 0, limit: int = 1 << 16
) -> LogPart:
    """A piece of the log of a run, of the last one if none is named; goes on at `offset + len(data)`."""
    check_int("offset", offset, 0, 2**62)
    check_int("limit", limit, 0, LONGEST_PIECE)
    # First whether it has ended, then the file: whatever comes later would have been in it.
    source = engine.query(_source, job_id, run_id)
    if source.run is None:
        return _part(source, Excerpt(0, b"", 0))
    found = JobFiles(engine.files).read(source.run.job_id, source.run.id, offset, limit)
    Located(source.run, source.place).check_log_here(found, engine.node)
    return _part(source, found)


def tail_log(engine: Engine, job_id: JobId, run_id: RunId | None = None, lines: int = 10) -> LogPart:
    """The last lines of the log of a run, of the last one if none is named."""
    check_int("lines", lines, 0, MOST_LINES)
    source = engine.query(_source, job_id, run_id)
    if source.run is None:
        return _part(source, Excerpt(0, b"", 0))
    found = JobFiles(engine.files).tail(source.run.job_id, source.run.id, lines)
    Located(source.run, source.place).check_log_here(found, engine.node)
    return _part(source, found)


def list_artifacts(engine: Engine, job_id: JobId) -> list[Artifact]:
    """The files that a job has made so far."""
    return JobFiles(engine.files).artifacts(engine.query(find_last, job_id).id)


def artifacts_of_run(tx: Tx, run_id: RunId) -> list[Artifact]:
    """The files that were there when a run ended; none while it is open."""
    return msgspec.json.decode(find_run(tx, run_id).artifacts or "[]", type=list[Artifact])


def locate_run(tx: Tx, run_id: RunId) -> Located:
    """A run, and the machine that has its log."""
    run = find_run(tx, run_id)
    return Located(run, _place_of(tx, run))


def locate_job(tx: Tx, job_id: JobId) -> Located:
    """The last run of a job, and the machine that has its artifacts."""
    runs = runs_of(tx, job_id)
    if not runs:
        raise NotFound(f"job {find_last(tx, job_id).id} has not run yet, so it has no artifacts")
    return Located(runs[-1], _place_of(tx, runs[-1]))


def _source(tx: Tx, job_id: JobId, run_id: RunId | None) -> Source:
    runs = runs_of(tx, job_id)
    if run_id is not None:
        runs = [run for run in runs if run.id == run_id]
        if not runs:
            raise NotFound(f"job {job_id} has no run {run_id!r}")
    if not runs:
        return Source(None, find_last(tx, job_id).state.name in TERMINAL)
    last = runs[-1]
    return Source(last, last.status is not None, _place_of(tx, last))


def _place_of(tx: Tx, run: Run) -> RunPlace | None:
    return tx.one(sql.node_of_session, RunPlace, id=run.session_id)


def _part(source: Source, found: Excerpt) -> LogPart:
    run = source.run
    return LogPart(
        run_id=None if run is None else run.id,
        attempt=None if run is None else run.attempt,
        offset=found.offset,
        data=found.data,
        end=found.end,
        eof=source.has_ended and found.offset + len(found.data) >= found.end,
    )
