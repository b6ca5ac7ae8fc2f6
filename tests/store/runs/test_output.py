"""The log of a run and the artifacts of a job are found by the job."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from holdfast.core.errors import InvalidInput, NotFound
from holdfast.core.jobs.requests import Claimed, Report
from holdfast.core.jobs.settle import Completed
from holdfast.core.messages.runs import Artifact
from holdfast.core.values.retry import RetryPolicy
from holdfast.store.engine import Engine
from holdfast.store.files import JobFiles, segment_name
from holdfast.store.scripts.runs.finish import finish
from holdfast.store.scripts.runs.output import list_artifacts, read_log, tail_log
from tests.store.acts import FAILED, NOW, claim_one, end, let_time_pass, put_one, runs, write


@pytest.fixture
def files(engine: Engine) -> Iterator[JobFiles]:
    made = JobFiles(engine.files)
    yield made
    for job_id in made.jobs():
        made.forget(job_id)
    if made.folder.exists():
        made.folder.rmdir()


def say(files: JobFiles, run: Claimed, data: bytes) -> None:
    folder = files.make(files.log_of(run.job_id, run.run_id))
    (folder / segment_name(0)).write_bytes(data)


def test_a_log_ends_only_when_its_run_has_ended_and_it_is_read_out(engine: Engine, files: JobFiles) -> None:
    put_one(engine, "a")
    run = claim_one(engine)
    say(files, run, b"one\ntwo\n")
    whole = engine.ask(read_log, "a")
    assert (whole.data, whole.end, whole.eof, whole.attempt) == (b"one\ntwo\n", 8, False, 1)
    end(engine, run)
    assert [engine.ask(read_log, "a", None, 0, limit).eof for limit in (3, 8)] == [False, True]
    assert engine.ask(tail_log, "a", None, 1).data == b"two\n"


def test_without_a_run_there_is_nothing_to_read_yet(engine: Engine) -> None:
    put_one(engine, "a", delay_ms=5)
    found = engine.ask(read_log, "a")
    assert (found.run_id, found.data, found.eof) == (None, b"", False)


def test_each_run_has_a_log_of_its_own_and_the_last_one_is_meant(engine: Engine, files: JobFiles) -> None:
    put_one(engine, "a", policy=RetryPolicy(1, 0))
    first = claim_one(engine)
    say(files, first, b"first")
    end(engine, first, FAILED)
    let_time_pass(engine, NOW)
    second = claim_one(engine)
    say(files, second, b"second")
    assert engine.ask(read_log, "a").data == b"second"
    assert engine.ask(read_log, "a", first.run_id).data == b"first"
    with pytest.raises(NotFound, match="no run 'x'"):
        engine.ask(read_log, "a", "x")


@pytest.mark.parametrize(("offset", "limit"), [(-1, 5), (0, -1), (0, 1 << 30)])
def test_a_piece_that_cannot_be_is_refused(engine: Engine, offset: int, limit: int) -> None:
    put_one(engine, "a")
    with pytest.raises(InvalidInput):
        engine.ask(read_log, "a", None, offset, limit)


def test_artifacts_and_the_place_of_the_log_are_stored_when_the_run_ends(engine: Engine, files: JobFiles) -> None:
    put_one(engine, "a")
    run = claim_one(engine)
    files.artifact("a", "x.txt").write_text("12")
    assert engine.ask(list_artifacts, "a") == [Artifact("x.txt", 2)]
    report = Report(run.run_id, "a", Completed("1"), 5, exit_code=0, artifacts='[{"name":"x.txt"}]', log_path="/l")
    write(engine, finish, [report], NOW)
    [stored] = runs(engine, "a")
    assert (stored.artifacts, stored.log_path, stored.exit_code) == ('[{"name":"x.txt"}]', "/l", 0)
