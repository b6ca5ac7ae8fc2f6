"""Lists are bounded in bytes: long documents are told of by size and head, and a page ends at 2 MiB."""

from __future__ import annotations

import msgspec
import pytest

from holdfast.core.job import Done
from holdfast.core.jobs.requests import JobFilter
from holdfast.core.jobs.settle import Completed
from holdfast.core.jobs.stored_job import Cut, Job
from holdfast.core.messages.jobs import BulkAction, Page
from holdfast.core.values.group import GroupMode
from holdfast.store.engine import Engine
from holdfast.store.scripts.groups.groups import members_of_group
from holdfast.store.scripts.jobs.bulk import bulk
from holdfast.store.scripts.jobs.dead_letters import find_dead_letters, list_dead_letters
from holdfast.store.scripts.reading.pages import PAGE_BYTES, WHOLE_BYTES
from holdfast.store.scripts.reading.read_jobs import find_job, find_run, jobs_like, list_jobs, runs_of
from holdfast.store.scripts.runs.progress import save_checkpoint
from tests.store.acts import FAILED, NOW, claim_one, end, group, put_one, write

EVERYTHING = JobFilter()


def text(size: int, begin: str = "") -> str:
    """A JSON text of so many bytes."""
    return f'"{begin}{"x" * (size - 2 - len(begin))}"'


def only(engine: Engine, *, payloads: bool = False) -> Job:
    [job] = engine.query(list_jobs, EVERYTHING, payloads=payloads).jobs
    return job


@pytest.mark.parametrize("size", [2, WHOLE_BYTES])
def test_a_payload_of_4_kib_is_whole(engine: Engine, size: int) -> None:
    put_one(engine, "a", payload=text(size))
    job = only(engine)
    assert (job.payload, job.cut) == (text(size), {})


def test_a_longer_one_is_told_by_its_size_and_its_head(engine: Engine) -> None:
    put_one(engine, "a", payload=text(WHOLE_BYTES + 1, "é"))
    job = only(engine)
    assert job.payload is None
    assert job.cut == {"payload": Cut(WHOLE_BYTES + 2, '"é' + "x" * 254)}
    assert engine.query(find_job, "a").payload == only(engine, payloads=True).payload == text(WHOLE_BYTES + 1, "é")
    assert only(engine, payloads=True).cut == {}


def test_a_result_and_a_checkpoint_are_cut_too(engine: Engine) -> None:
    put_one(engine, "a")
    run = claim_one(engine)
    write(engine, save_checkpoint, run.job_id, run.run_id, text(5_000))
    assert (only(engine).checkpoint, only(engine).cut["checkpoint"].bytes) == (None, 5_000)
    end(engine, run, Completed(text(6_000)))
    job = only(engine)
    assert isinstance(job.state, Done)
    assert (job.state.result_summary, job.cut["result"].bytes) == (None, 6_000)
    whole = only(engine, payloads=True)
    assert whole == engine.query(find_job, "a")
    assert isinstance(whole.state, Done)
    assert whole.state.result_summary == text(6_000)


def test_the_head_shows_no_secret(engine: Engine) -> None:
    secret = {"password": "hunter2", "auth": {"token": "t0ps3cret"}, "argv": ["--api-key", "k3y"], "rest": "x" * 5_000}
    put_one(engine, "a", payload=msgspec.json.encode(secret).decode())
    head = only(engine).cut["payload"].head
    assert head.startswith('{"password":"***","auth":"***","argv":["--api-key","***"],"rest":"xxx')
    assert len(head) == 256


@pytest.mark.parametrize("payloads", [False, True])
def test_a_page_ends_at_2_mib_with_a_cursor(engine: Engine, payloads: bool) -> None:
    size = 700_000 if payloads else WHOLE_BYTES
    count = 5 if payloads else 1 + PAGE_BYTES // WHOLE_BYTES
    group(engine, "g", GroupMode.PARALLEL)
    for number in range(count):
        put_one(engine, f"j{number}", payload=text(size), group_id="g")
    seen, cursor = [], None
    while True:
        page = engine.query(jobs_like, limit=1_000, cursor=cursor, payloads=payloads)
        assert len(msgspec.json.encode(page)) <= PAGE_BYTES + 10_000
        seen += [job.id for job in page.jobs]
        cursor = page.cursor
        if cursor is None:
            break
    assert seen == [f"j{number}" for number in reversed(range(count))]
    first = engine.query(members_of_group, "g", 1_000, None, payloads)
    rest = engine.query(members_of_group, "g", 1_000, first.cursor, payloads)
    assert [job.id for job in first.jobs + rest.jobs][:count] == seen[::-1][: len(first.jobs) + len(rest.jobs)]
    assert first.cursor is not None


def test_a_job_that_is_larger_than_a_page_is_a_page(engine: Engine) -> None:
    for name in ("a", "b"):
        put_one(engine, name, payload=text(PAGE_BYTES + 1))
    first = engine.query(list_jobs, EVERYTHING, payloads=True)
    second = engine.query(list_jobs, EVERYTHING, cursor=first.cursor, payloads=True)
    assert [[job.id for job in page.jobs] for page in (first, second)] == [["b"], ["a"]]
    assert second == Page(second.jobs, None)


def test_the_jobs_of_dead_letters_are_cut_too(engine: Engine) -> None:
    put_one(engine, "a", payload=text(5_000))
    end(engine, claim_one(engine), FAILED)
    [letters] = engine.query(list_dead_letters).letters
    [job] = engine.query(find_dead_letters, letters.fingerprint).jobs
    assert (job.payload, job.cut["payload"].bytes) == (None, 5_000)
    [job] = engine.query(find_dead_letters, letters.fingerprint, payloads=True).jobs
    assert job.payload == text(5_000)


def test_what_runs_ran_with_is_cut_in_their_list(engine: Engine) -> None:
    put_one(engine, "a", payload=text(5_000))
    run = claim_one(engine)
    [listed] = engine.query(runs_of, "a")
    assert (listed.params_snapshot, listed.cut["params_snapshot"].bytes) == (None, 5_000)
    whole = engine.query(find_run, run.run_id)
    assert (whole.params_snapshot, whole.cut) == (text(5_000), {})


def test_a_bulk_action_reaches_more_than_a_page_takes(engine: Engine) -> None:
    for number in range(4):
        put_one(engine, f"j{number}", payload=text(PAGE_BYTES // 2))
    assert write(engine, bulk, BulkAction.CANCEL, EVERYTHING, NOW).jobs == 4
