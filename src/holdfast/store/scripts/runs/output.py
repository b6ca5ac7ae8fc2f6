"""The logs and artifacts of runs. They are read where the files are, beside the database."""

from __future__ import annotations

import os

from msgspec import Struct

from holdfast.core.errors import Elsewhere, NotFound
from holdfast.core.job import TERMINAL, JobId, RunId
from holdfast.core.jobs.run import Run
from holdfast.core.messages.runs import Artifact, ArtifactPart, LogPart
from holdfast.core.rules import limits
from holdfast.core.settings import rule_table
from holdfast.decoding import decode
from holdfast.store.engine import Engine, Tx
from holdfast.store.files import Excerpt, JobFiles, check_artifact
from holdfast.store.remote_files import LARGEST_ARTIFACT, RemotePiece, RunPlace, fetch
from holdfast.store.scripts.reading import read_jobs
from holdfast.store.scripts.runs.file_requests import PIECE_BYTES, FileKind
from holdfast.store.statements import sql


class LogSource(Struct, frozen=True):
    """The run whose log is meant, if there is one yet, its machine, and whether its log is complete."""

    run: Run | None
    has_ended: bool
    place: RunPlace | None = None


class Located(Struct, frozen=True):
    """A run and the machine it ran on, if that is known."""

    run: Run
    place: RunPlace | None

    def is_elsewhere(self, engine: Engine) -> bool:
        """Whether the run was on another machine than this one."""
        return self.place is not None and self.place.id != engine.node

    def may_be_elsewhere(self, found: Excerpt, engine: Engine) -> bool:
        """Whether the log is on another machine: nothing of it was found here, and the run has one or may have."""
        has_one = self.run.status is None or self.run.log_path is not None
        return found.end == 0 and has_one and self.is_elsewhere(engine)

    def read(self, engine: Engine, offset: int, limit: int) -> Excerpt:
        """At most `limit` bytes of its log, from the machine that has it. From another machine, at most one piece."""
        found = JobFiles(engine.files).read(self.run.job_id, self.run.id, offset, limit)
        if not self.may_be_elsewhere(found, engine):
            return found
        return _excerpt(fetch(engine, self.run, self._there, FileKind.LOG, start=offset, most=limit))

    def tail(self, engine: Engine, lines: int) -> Excerpt:
        """The last lines of its log, from the machine that has it."""
        found = JobFiles(engine.files).tail(self.run.job_id, self.run.id, lines)
        if not self.may_be_elsewhere(found, engine):
            return found
        return _excerpt(fetch(engine, self.run, self._there, FileKind.TAIL, start=lines))

    def artifacts(self, engine: Engine) -> list[Artifact]:
        """The artifacts of its job, from the machine that has them."""
        found = JobFiles(engine.files).artifacts(self.run.job_id)
        if found or not self.is_elsewhere(engine):
            return found
        if self.run.artifacts is not None:
            return decode(self.run.artifacts, list[Artifact])
        if self.run.status is not None:
            return []
        return decode(fetch(engine, self.run, self._there, FileKind.ARTIFACTS).data, list[Artifact])

    def read_artifact(self, engine: Engine, name: str, offset: int, limit: int) -> ArtifactPart:
        """A piece of an artifact, from whichever machine has it."""
        check_artifact(name)
        try:
            with JobFiles(engine.files).open_artifact(self.run.job_id, name) as file:
                size = os.fstat(file.fileno()).st_size
                file.seek(offset)
                return ArtifactPart(offset, file.read(min(limit, PIECE_BYTES)), size)
        except NotFound:
            if not self.is_elsewhere(engine):
                raise
        found = fetch(engine, self.run, self._there, FileKind.ARTIFACT, name=name, start=offset, most=limit)
        if found.ends > LARGEST_ARTIFACT:
            raise Elsewhere(
                f"artifact {limits.shown(name)} has {found.ends >> 20} MiB and is on node "
                f"{self._there.name!r}; more than "
                f"{LARGEST_ARTIFACT >> 20} MiB need a folder that both machines have: [files] shared in holdfast.toml"
            )
        return ArtifactPart(found.begins, found.data, found.ends)

    @property
    def _there(self) -> RunPlace:
        assert self.place is not None
        return self.place


def _excerpt(found: RemotePiece) -> Excerpt:
    return Excerpt(found.begins, found.data, found.ends)


def read_log(
    engine: Engine, job_id: JobId, run_id: RunId | None = None, offset: int = 0, limit: int = 1 << 16
) -> LogPart:
    """A piece of the log of a run, or of the last run. The next piece begins at `offset + len(data)`."""
    rule_table.check("offset", offset)
    rule_table.check("read_log.limit", limit, "limit")
    # First whether the run has ended, then the file: so the file of an ended run is complete.
    source = engine.query(_source, job_id, run_id)
    if source.run is None:
        return _part(source, Excerpt(0, b"", 0))
    return _part(source, Located(source.run, source.place).read(engine, offset, limit))


def tail_log(engine: Engine, job_id: JobId, run_id: RunId | None = None, lines: int = 10) -> LogPart:
    """The last lines of the log of a run, or of the last run."""
    rule_table.check("lines", lines)
    source = engine.query(_source, job_id, run_id)
    if source.run is None:
        return _part(source, Excerpt(0, b"", 0))
    return _part(source, Located(source.run, source.place).tail(engine, lines))


def list_artifacts(engine: Engine, job_id: JobId) -> list[Artifact]:
    """The files that a job has made so far."""
    source = engine.query(_source, job_id, None)
    return [] if source.run is None else Located(source.run, source.place).artifacts(engine)


def read_artifact(engine: Engine, job_id: JobId, name: str, offset: int = 0, limit: int = PIECE_BYTES) -> ArtifactPart:
    """A piece of an artifact, of at most 256 KiB, from whichever machine has it."""
    rule_table.check("offset", offset)
    rule_table.check("read_log.limit", limit, "limit")
    return engine.query(locate_job, job_id).read_artifact(engine, name, offset, limit)


def artifacts_of_run(tx: Tx, run_id: RunId) -> list[Artifact]:
    """The artifacts that were there when a run ended. None while it is open."""
    return decode(read_jobs.find_run(tx, run_id).artifacts or "[]", list[Artifact])


def locate_run(tx: Tx, run_id: RunId) -> Located:
    """A run, and the machine that has its log."""
    run = read_jobs.find_run(tx, run_id)
    return Located(run, _place_of(tx, run))


def locate_job(tx: Tx, job_id: JobId) -> Located:
    """The last run of a job, and the machine that has its artifacts."""
    runs = read_jobs.runs_of(tx, job_id)
    if not runs:
        raise NotFound(f"job {read_jobs.find_last(tx, job_id).id} has not run yet, so it has no artifacts")
    return Located(runs[-1], _place_of(tx, runs[-1]))


def _source(tx: Tx, job_id: JobId, run_id: RunId | None) -> LogSource:
    runs = read_jobs.runs_of(tx, job_id)
    if run_id is not None:
        runs = [run for run in runs if run.id == run_id]
        if not runs:
            raise NotFound(f"job {job_id} has no run {run_id!r}")
    if not runs:
        return LogSource(None, read_jobs.find_last(tx, job_id).state.name in TERMINAL)
    last = runs[-1]
    return LogSource(last, last.status is not None, _place_of(tx, last))


def _place_of(tx: Tx, run: Run) -> RunPlace | None:
    return tx.one(sql.node_of_session, RunPlace, id=run.session_id)


def _part(source: LogSource, found: Excerpt) -> LogPart:
    run = source.run
    return LogPart(
        run_id=None if run is None else run.id,
        attempt=None if run is None else run.attempt,
        offset=found.offset,
        data=found.data,
        end=found.end,
        eof=source.has_ended and found.offset + len(found.data) >= found.end,
    )
