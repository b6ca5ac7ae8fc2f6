"""Templates: kept by name, replaced, archived and never deleted; jobs are made from them with overrides laid over."""

from __future__ import annotations

import json
from typing import Any

import pytest

from holdfast.core.errors import Conflict, NotFound
from holdfast.core.job import StateName
from holdfast.core.jobs.requests import Enqueued
from holdfast.core.messages.templates import NewTemplate, Template
from holdfast.core.tasks.task import Overrides, TemplateOptions
from holdfast.core.values.group import Dependency
from holdfast.core.values.retry import RetryPolicy
from holdfast.store.engine import Engine
from holdfast.store.scripts.schedules.templates import (
    archive_template,
    enqueue_from_template,
    find_template,
    list_templates,
    put_template,
)
from tests.store.acts import NOW, claim_one, end, job, put_one, select, write

OPTIONS = TemplateOptions(priority=5, tag="nightly", policy=RetryPolicy(retries=2), delay_ms=1_000)


def put(engine: Engine, name: str = "report", template_id: str = "t1", **fields: Any) -> Template:
    return write(engine, put_template, NewTemplate(id=template_id, name=name, **{"task": "t"} | fields), NOW)


def make(engine: Engine, ref: str = "report", job_id: str = "j1", **fields: Any) -> Enqueued:
    return write(engine, enqueue_from_template, ref, job_id, NOW, **fields)


def test_a_template_is_found_by_its_name_and_by_its_id(engine: Engine) -> None:
    stored = put(engine, queue="mail", payload='{"a":1}', options=OPTIONS)
    assert (stored.task, stored.queue, stored.payload, stored.options) == ("t", "mail", '{"a":1}', OPTIONS)
    assert engine.query(find_template, "report") == engine.query(find_template, "t1") == stored


def test_a_template_that_is_not_there_is_not_found(engine: Engine) -> None:
    with pytest.raises(NotFound, match="there is no template 'report'"):
        engine.query(find_template, "report")


def test_storing_a_name_again_replaces_the_template(engine: Engine) -> None:
    put(engine, payload='{"a":1}', options=OPTIONS)
    again = put(engine, template_id="t2", task="other", payload='{"b":2}')
    assert (again.id, again.task, again.payload, again.options) == ("t1", "other", '{"b":2}', TemplateOptions())
    assert engine.query(list_templates) == [again]


def test_an_id_belongs_to_one_template(engine: Engine) -> None:
    put(engine)
    with pytest.raises(Conflict, match="the id t1 is that of template 'report'"):
        put(engine, "other")


def test_an_archived_template_is_kept_and_makes_no_jobs(engine: Engine) -> None:
    put(engine)
    archived = write(engine, archive_template, "report", NOW + 5)
    assert archived.archived_at == NOW + 5
    assert write(engine, archive_template, "t1", NOW + 9) == archived
    assert engine.query(list_templates) == []
    assert engine.query(list_templates, archived=True) == [archived]
    with pytest.raises(Conflict, match="template 'report' is archived"):
        make(engine, "t1")


def test_the_name_of_an_archived_template_is_free_again(engine: Engine) -> None:
    put(engine)
    write(engine, archive_template, "report", NOW)
    assert put(engine, template_id="t2").id == "t2"
    assert engine.query(find_template, "report").id == "t2"
    assert [template.id for template in engine.query(list_templates, archived=True)] == ["t2", "t1"]


def test_a_job_has_what_its_template_says(engine: Engine) -> None:
    put(engine, queue="mail", payload='{"a":1}', options=OPTIONS)
    answer = make(engine)
    made = job(engine, "j1")
    assert answer == Enqueued("j1", StateName.SCHEDULED, known=False, number=made.number)
    assert (made.task, made.queue, made.payload, made.priority, made.tag) == ("t", "mail", '{"a":1}', 5, "nightly")
    assert made.policy == RetryPolicy(retries=2)
    assert select(engine, "SELECT template_id FROM jobs") == [{"template_id": "t1"}]


def test_overrides_are_laid_over_the_template(engine: Engine) -> None:
    put_one(engine, "first")
    put(engine, payload='{"a":1,"b":{"c":1,"d":2}}', options=OPTIONS)
    overrides = Overrides(
        queue="other", priority=0, due=NOW - 1, subject="c::r::p", after=(Dependency("first"),), idempotency_key="k"
    )
    make(engine, payload='{"b":{"c":3},"e":null}', overrides=overrides)
    made = job(engine, "j1")
    assert json.loads(made.payload or "") == {"a": 1, "b": {"c": 3}, "e": None}
    assert (made.queue, made.priority, made.tag, made.subject, made.tenant) == (
        "other",
        0,
        "nightly",
        "c::r::p",
        "c::r",
    )
    assert made.state.name is StateName.SCHEDULED  # because of `first`: it is due, in place of the template's delay


def test_a_repeat_gets_the_same_answer(engine: Engine) -> None:
    put(engine)
    assert make(engine) == make(engine, repeated=True)


def test_an_id_that_is_taken_is_a_conflict(engine: Engine) -> None:
    put(engine)
    make(engine)
    with pytest.raises(Conflict, match="there is a job j1 already"):
        make(engine)


def test_a_job_that_stands_for_another_keeps_its_own_template(engine: Engine) -> None:
    put(engine)
    put(engine, "second", "t2")
    same = Overrides(idempotency_key="k")
    make(engine, overrides=same)
    again = make(engine, "second", "j2", overrides=same)
    number = job(engine, "j1").number
    assert again == Enqueued("j1", StateName.QUEUED, existing=True, known=False, number=number)
    assert select(engine, "SELECT id, template_id FROM jobs") == [{"id": "j1", "template_id": "t1"}]


def test_a_run_knows_the_template_of_its_job(engine: Engine) -> None:
    put(engine)
    make(engine)
    end(engine, claim_one(engine))
    assert select(engine, "SELECT template_id FROM job_runs") == [{"template_id": "t1"}]


def test_a_change_of_the_template_leaves_its_jobs_alone(engine: Engine) -> None:
    put(engine, payload='{"a":1}')
    make(engine)
    put(engine, payload='{"a":2}')
    assert job(engine, "j1").payload == '{"a":1}'
