"""Lists: newest first, by any filter, page by page."""

from __future__ import annotations

import base64
import re
from inspect import signature
from typing import Any

import pytest

from holdfast.core.errors import InvalidInput
from holdfast.core.job import StateName
from holdfast.core.jobs.requests import JobFilter
from holdfast.core.jobs.settle import Broke, Outcome
from holdfast.core.messages.jobs import BulkAction
from holdfast.core.values.group import GroupMode, OnFailure
from holdfast.core.values.retry import Failure, FailureKind
from holdfast.store.engine import Engine
from holdfast.store.scripts.groups.groups import create_group
from holdfast.store.scripts.jobs.bulk import bulk
from holdfast.store.scripts.reading.read_jobs import jobs_like, list_jobs, read_cursor
from holdfast.store.statements import read_part, sql
from tests.store import schedule_acts
from tests.store.acts import DONE, NOW, claim_one, end, group, new_job, put, put_one, row, write

DISK = Broke(Failure(FailureKind.PERMANENT, "ERR_DISK", "Échec: 100% of a_b\\c is full"))


@pytest.fixture
def stock(engine: Engine) -> Engine:
    """A done, a failed, a running, a scheduled and two ready jobs, with something of everything."""
    group(engine, "g", GroupMode.PARALLEL)
    ended: list[tuple[str, Outcome]] = [("done", DONE), ("failed", DISK)]
    for name, outcome in ended:
        put_one(engine, name, tag="blue", subject=f"me::wall::{name}", now=NOW - 10)
        end(engine, claim_one(engine), outcome)
    put_one(engine, "running", queue="other", group_id="g", now=NOW - 5)
    claim_one(engine, queues=("other",))
    put_one(engine, "later", task="u", delay_ms=50, subject="me::floor::x", tenant="mine")
    put(
        engine,
        new_job("ready", group_id="g", tag="red"),
        new_job("last", queue="other", subject="you::wall::x", schedule_id="s", tenant="mine"),
    )
    return engine


@pytest.mark.parametrize(
    "wanted",
    [
        {"tag": "t"},
        {"group_id": "g"},
        {"schedule_id": "s"},
        {"subject_prefix": "me::"},
        {"states": (StateName.QUEUED,)},
        {"states": (StateName.SCHEDULED,)},
        {},
    ],
)
def test_the_systems_own_jobs_are_left_out_by_every_filter(engine: Engine, wanted: dict[str, Any]) -> None:
    group(engine, "g", GroupMode.PARALLEL)
    delay = 50 if wanted.get("states") == (StateName.SCHEDULED,) else None
    for number, queue in enumerate(("default", "holdfast", "holdfast.webhooks", "holdfasts")):
        subject = f"me::x::{number}"
        put_one(engine, queue, queue=queue, tag="t", group_id="g", schedule_id="s", subject=subject, delay_ms=delay)
    assert ids(engine, **wanted, without_system=True) == ["holdfasts", "default"]
    assert len(ids(engine, **wanted)) == 4
    named = JobFilter(**wanted, without_system=True)
    assert engine.query(bulk, BulkAction.CANCEL, named, NOW, dry_run=True).jobs == 2
    state = wanted.get("states", ())
    others = {name: value for name, value in wanted.items() if name != "states"}
    assert len(engine.query(jobs_like, state, **others, without_system=True).jobs) == 2


def test_every_list_of_jobs_has_every_filter() -> None:
    words = set(re.findall(r":[a-z_]+", read_part("job_filters")))
    lists = [getattr(sql, name) for name in sql.names if name.startswith("list_jobs")]
    assert len(lists) == 7
    for statement in lists:
        assert words - set(re.findall(r":[a-z_]+", statement.sqlite)) == set()


def test_groups_and_schedules_are_found_by_their_names(engine: Engine) -> None:
    write(engine, create_group, "g1", "nightly", GroupMode.PARALLEL, OnFailure.STOP, NOW)
    schedule_acts.put(engine, "hourly", id="s1")
    put(engine, new_job("a", group_id="g1"), new_job("b", group_id="nightly"), new_job("c", schedule_id="s1"))
    assert row(engine, "b").group_id == "g1"
    assert ids(engine, group_id="nightly") == ids(engine, group_id="g1") == ["b", "a"]
    assert ids(engine, schedule_id="hourly") == ids(engine, schedule_id="s1") == ["c"]
    assert ids(engine, group_id="nobody") == ids(engine, schedule_id="nobody") == []


def ids(engine: Engine, **wanted: Any) -> list[str]:
    return [job.id for job in engine.query(list_jobs, JobFilter(**wanted)).jobs]


ALL = ["last", "ready", "later", "running", "failed", "done"]
S = StateName

FILTERS: list[tuple[dict[str, Any], list[str]]] = [
    ({}, ALL),
    ({"states": (S.QUEUED,)}, ["last", "ready"]),
    ({"states": (S.QUEUED, S.DONE, S.RUNNING)}, ["last", "ready", "running", "done"]),
    ({"states": (S.QUEUED, S.QUEUED)}, ["last", "ready"]),
    ({"states": (S.CANCELLED,)}, []),
    ({"queue": "other"}, ["last", "running"]),
    ({"queue": "nowhere"}, []),
    ({"queue": "other", "states": (S.QUEUED,)}, ["last"]),
    ({"task": "u"}, ["later"]),
    ({"task": "u", "states": (S.QUEUED, S.SCHEDULED)}, ["later"]),
    ({"tag": "blue"}, ["failed", "done"]),
    ({"tenant": "mine"}, ["last", "later"]),
    ({"tenant": "mine", "states": (S.SCHEDULED,)}, ["later"]),
    ({"tenant": "mine", "states": (S.QUEUED,)}, ["last"]),
    ({"tenant": "mine", "subject_prefix": "me"}, ["later"]),
    ({"tenant": "mine", "schedule_id": "s"}, ["last"]),
    ({"tenant": "default", "tag": "red"}, ["ready"]),
    ({"tenant": "mine", "tag": "red"}, []),
    ({"tenant": "mine", "group_id": "g"}, []),
    ({"tenant": "default", "schedule_id": "s"}, []),
    ({"tag": "blue", "states": (S.DONE,)}, ["done"]),
    ({"tag": "blue", "queue": "other"}, []),
    ({"tag": "blue", "subject_prefix": "me::wall::f"}, ["failed"]),
    ({"tag": "red", "group_id": "g"}, ["ready"]),
    ({"group_id": "g"}, ["ready", "running"]),
    ({"schedule_id": "s"}, ["last"]),
    ({"schedule_id": "s", "tag": "red"}, []),
    ({"schedule_id": "s", "states": (S.QUEUED, S.DONE)}, ["last"]),
    ({"group_id": "g", "states": (S.RUNNING, S.DONE)}, ["running"]),
    ({"group_id": "g", "queue": "default"}, ["ready"]),
    ({"subject_prefix": "me::"}, ["later", "failed", "done"]),
    ({"subject_prefix": "me::wall"}, ["failed", "done"]),
    ({"subject_prefix": "me::", "task": "u"}, ["later"]),
    ({"subject_prefix": "me::", "states": (S.FAILED,)}, ["failed"]),
    ({"subject_prefix": "ME::"}, []),
    ({"created_after": NOW - 5}, ["last", "ready", "later"]),
    ({"created_after": NOW - 6, "queue": "other"}, ["last", "running"]),
    ({"created_after": NOW - 11, "tag": "blue"}, ["failed", "done"]),
    ({"error_text": "err_disk"}, ["failed"]),
    ({"error_text": "IS FULL"}, ["failed"]),
    ({"error_text": "Échec"}, ["failed"]),
    ({"error_text": "100%"}, ["failed"]),
    ({"error_text": "10%full"}, []),
    ({"error_text": "a_b\\c"}, ["failed"]),
    ({"error_text": "a_b_c"}, []),
    ({"error_text": "full", "states": (S.FAILED,)}, ["failed"]),
    ({"error_text": "full", "tag": "blue"}, ["failed"]),
    ({"error_text": "full", "tag": "red"}, []),
    ({"error_text": "full", "group_id": "g"}, []),
    ({"error_text": "full", "subject_prefix": "me"}, ["failed"]),
    ({"without_system": True}, ALL),
]


@pytest.mark.parametrize(("wanted", "expected"), FILTERS, ids=lambda value: str(value)[:60])
def test_a_filter_finds_what_fits_newest_first(stock: Engine, wanted: dict[str, Any], expected: list[str]) -> None:
    assert ids(stock, **wanted) == expected


def test_jobs_of_the_system_can_be_left_out_unless_their_queue_is_named(engine: Engine) -> None:
    for queue in ("default", "holdfast", "holdfast.bench", "holdfaster"):
        put_one(engine, queue, queue=queue)
    assert ids(engine, without_system=True) == ["holdfaster", "default"]
    assert ids(engine, without_system=True, states=(S.QUEUED,)) == ["holdfaster", "default"]
    assert ids(engine, without_system=True, queue="holdfast") == ["holdfast"]


def test_every_filter_was_tried() -> None:
    assert {name for wanted, _ in FILTERS for name in wanted} == set(JobFilter.__struct_fields__)


def test_a_list_by_a_query_has_every_filter_of_a_search() -> None:
    words = {"states" if name == "state" else name for name in signature(jobs_like).parameters}
    assert words - {"tx", "limit", "cursor", "payloads"} == set(JobFilter.__struct_fields__)


PAGED: list[dict[str, Any]] = [
    {},
    {"states": (S.QUEUED, S.DONE, S.RUNNING)},
    {"tag": "blue"},
    {"group_id": "g"},
    {"subject_prefix": "me::"},
    {"queue": "other"},
]


@pytest.mark.parametrize("wanted", PAGED, ids=str)
@pytest.mark.parametrize("size", [1, 2, 5, 6])
def test_pages_together_are_the_whole_list(stock: Engine, wanted: dict[str, Any], size: int) -> None:
    filter_ = JobFilter(**wanted)
    whole = ids(stock, **wanted)
    found: list[str] = []
    cursor: str | None = None
    while True:
        page = stock.query(list_jobs, filter_, size, cursor)
        assert len(page.jobs) <= size
        found += [job.id for job in page.jobs]
        cursor = page.cursor
        if cursor is None:
            break
    assert found == whole


def test_jobs_that_come_in_between_do_not_shift_a_page(engine: Engine) -> None:
    put(engine, *(new_job(name) for name in "abcd"))
    first = engine.query(list_jobs, JobFilter(), 2)
    put_one(engine, "e")
    second = engine.query(list_jobs, JobFilter(), 2, first.cursor)
    assert [job.id for job in (*first.jobs, *second.jobs)] == ["d", "c", "b", "a"]


def mark(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


@pytest.mark.parametrize(
    "cursor", ["", "nonsense", "é", "====", mark("5"), mark("n"), mark("n-5"), mark("n5.0"), mark("n" + "9" * 30)]
)
def test_a_cursor_that_no_list_returned_is_refused(engine: Engine, cursor: str) -> None:
    with pytest.raises(InvalidInput, match="cursor"):
        engine.query(list_jobs, JobFilter(), 5, cursor)


def test_a_cursor_is_the_number_to_go_on_below(engine: Engine) -> None:
    put(engine, new_job("a"), new_job("b"))
    page = engine.query(list_jobs, JobFilter(), 1)
    assert page.cursor is not None
    assert read_cursor(page.cursor) == row(engine, "b").number
