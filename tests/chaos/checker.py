"""What must be true of a database and of the side files after any number of kills, when all work has ended."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeAlias

from msgspec import Struct

from holdfast.core.job import StateName
from holdfast.core.jobs.requests import is_system_queue
from holdfast.core.jobs.run import RunStatus
from holdfast.core.values.retry import POISON_DEATHS
from holdfast.store.engine import Engine
from holdfast.store.scripts.maintenance.doctor import examine
from tests.chaos import happened
from tests.chaos.database import select
from tests.chaos.journal import Entry, entries

Row: TypeAlias = dict[str, Any]

GOOD = (RunStatus.COMPLETED, RunStatus.SKIPPED)
LIVE = (StateName.SCHEDULED, StateName.QUEUED, StateName.RUNNING)


class Interval(Struct, frozen=True):
    """A time in which a run was certainly under way: until it said that it ended, or until its process last spoke."""

    start: int
    end: int
    run_id: str


class Evidence:
    """All rows and all lines, put in order."""

    def __init__(self, engine: Engine, folder: Path | None = None) -> None:
        self.jobs: dict[str, Row] = {row["id"]: row for row in select(engine, "SELECT * FROM jobs")}
        self.runs: dict[str, Row] = {row["id"]: row for row in select(engine, "SELECT * FROM job_runs")}
        self.sessions = select(engine, "SELECT * FROM sessions")
        self.lines = [] if folder is None else entries(folder)
        self.violations = examine(engine)
        self.chains: dict[str, list[Row]] = defaultdict(list)
        for job in sorted(self.jobs.values(), key=lambda job: int(job["number"])):
            self.chains[self.root(job["id"])].append(job)
        self.runs_of: dict[str, list[Row]] = defaultdict(list)
        for run in sorted(self.runs.values(), key=lambda run: int(run["attempt"])):
            self.runs_of[self.root(run["job_id"])].append(run)

    def root(self, job_id: str) -> str:
        """The first link of the chain that a job belongs to. One that was retried by hand begins anew."""
        while (earlier := self.jobs[job_id]["retry_of"]) is not None and self.jobs[job_id]["retried_from"] is None:
            job_id = earlier
        return job_id

    def said(self, word: str) -> list[Entry]:
        """The lines that begin with this word."""
        return [entry for entry in self.lines if entry.word == word]

    def summary(self) -> str:
        """Counts, to be printed at the end of a test."""
        crashed = sum(run["error_code"] == "ERR_CRASH_RECOVERY" for run in self.runs.values())
        lost = sum(session["status"] == "unknown" for session in self.sessions)
        parked = sum(job["error_code"] == "ERR_POISON" for job in self.jobs.values())
        return (
            f"{len(self.said('acked'))} jobs acknowledged, {len(self.jobs)} stored, {len(self.runs)} runs, "
            f"{lost} sessions found dead, {crashed} of their runs settled, {parked} jobs parked"
        )


def problems(engine: Engine, folder: Path) -> list[str]:
    """Everything that is wrong; empty if every promise was kept."""
    seen = Evidence(engine, folder)
    checks = (_overlaps, _cancelled, _journal_agrees)
    found = stored_problems(seen) + [problem for check in checks for problem in check(seen)]
    return found + happened.problems(engine, folder)


def stored_problems(seen: Evidence) -> list[str]:
    """What is wrong with the rows alone."""
    checks = (_doctor, _acknowledged, _ended_once, _tries, _sessions)
    return [problem for check in checks for problem in check(seen)]


def summary(engine: Engine, folder: Path) -> str:
    """What there was, in numbers."""
    return f"{Evidence(engine, folder).summary()}, {happened.summary(engine, folder)}"


def _doctor(seen: Evidence) -> Iterator[str]:
    for violation in seen.violations:
        yield f"the doctor found {violation}"


def _acknowledged(seen: Evidence) -> Iterator[str]:
    for entry in seen.said("acked"):
        if entry.about[0] not in seen.jobs:
            yield f"job {entry.about[0]} was acknowledged and is lost"
    for job in seen.jobs.values():
        if job["state"] in LIVE:
            yield f"job {job['id']} ({job['job_type']}) is left {job['state']}"


def _ended_once(seen: Evidence) -> Iterator[str]:
    for root, chain in seen.chains.items():
        runs = seen.runs_of[root]
        if [run["attempt"] for run in runs] != list(range(1, chain[-1]["attempts"] + 1)):
            yield f"the runs of job {root} have gaps: {[run['attempt'] for run in runs]}"
        good = [run["status"] in GOOD for run in runs]
        done = chain[-1]["state"] == StateName.DONE
        if sum(good) != int(done) or any(good[:-1]):
            yield f"job {root} ended as {chain[-1]['state']} after {[run['status'] for run in runs]}"
        if any(link["state"] != StateName.FAILED for link in chain[:-1]):
            yield f"job {root} was continued without having failed"


def _tries(seen: Evidence) -> Iterator[str]:
    for root, chain in seen.chains.items():
        last, runs = chain[-1], seen.runs_of[root]
        failed = sum(run["status"] == RunStatus.FAILED and run["error_kind"] == "transient" for run in runs)
        if failed != last["transient_tries"] or failed > last["max_retries"] + 1:
            yield f"job {root} failed {failed} times, is charged {last['transient_tries']} of {last['max_retries']} + 1"
        if last["infra_tries"] > last["max_infra"] + 1 or last["deaths"] > POISON_DEATHS:
            yield f"job {root} is charged {last['infra_tries']} crashes and {last['deaths']} deaths"
        # A run that was given back without having begun, or that asked to be called again, does not count.
        if last["max_infra"] == 0 and sum(run["status"] != RunStatus.YIELDED for run in runs) > 1:
            yield f"job {root} must never run twice and has {len(runs)} runs"


def _overlaps(seen: Evidence) -> Iterator[str]:
    last_word: dict[str, int] = {entry.life: entry.at for entry in seen.lines}
    ends = {entry.about[0]: entry.at for entry in seen.said("end")}
    by_job: dict[str, list[Interval]] = defaultdict(list)
    by_subject: dict[tuple[str, str], list[Interval]] = defaultdict(list)
    by_group: dict[str, list[Interval]] = defaultdict(list)
    for entry in seen.said("start"):
        run_id, job_id = entry.about
        interval = Interval(entry.at, ends.get(run_id, last_word[entry.life]), run_id)
        job = seen.jobs[job_id]
        by_job[seen.root(job_id)].append(interval)
        if job["group_seq"] is not None:
            by_group[job["group_id"]].append(interval)
        if job["subject_key"] is not None:
            by_subject[job["job_type"], job["subject_key"]].append(interval)
    yield from _overlapping("job", by_job.items())
    yield from _overlapping("subject", by_subject.items())
    yield from _overlapping("sequential group", by_group.items())


def _overlapping(what: str, groups: Iterable[tuple[object, list[Interval]]]) -> Iterator[str]:
    for name, intervals in groups:
        for first, second in pairwise(sorted(intervals, key=lambda interval: interval.start)):
            if second.start < first.end:
                yield f"two runs of {what} {name} at the same time: {first} and {second}"


def _cancelled(seen: Evidence) -> Iterator[str]:
    starts: dict[str, list[int]] = defaultdict(list)
    for entry in seen.said("start"):
        starts[entry.about[1]].append(entry.at)
    for entry in seen.said("cancelled"):
        job = seen.jobs[entry.about[0]]
        if job["state"] != StateName.CANCELLED or any(at > entry.at for at in starts[job["id"]]):
            yield f"job {job['id']} was cancelled and is {job['state']}"
    for entry in seen.said("asked"):
        # The run that was asked may have been claimed and not yet begun; there is none after it.
        if sum(at > entry.at for at in starts[entry.about[0]]) > 1:
            yield f"job {entry.about[0]} was asked to stop and started again"


def _journal_agrees(seen: Evidence) -> Iterator[str]:
    started = [entry.about[0] for entry in seen.said("start")]
    if len(started) != len(set(started)):
        yield "a run was started twice"
    yield from (f"run {run_id} was started and is not in the store" for run_id in started if run_id not in seen.runs)
    ended = {entry.about[0] for entry in seen.said("end")}
    for run in seen.runs.values():
        # What the system runs for itself writes no journal.
        is_ours = not is_system_queue(seen.jobs[run["job_id"]]["queue"])
        if run["status"] == RunStatus.COMPLETED and run["id"] not in ended and is_ours:
            yield f"run {run['id']} is stored as completed and never came to its end"


def _sessions(seen: Evidence) -> Iterator[str]:
    for session in seen.sessions:
        if session["status"] not in ("success", "unknown"):
            yield f"session {session['id']} is left {session['status']}"
