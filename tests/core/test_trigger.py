"""Triggers in words, whatever stands in them."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.core.jobs.run import RunStatus
from holdfast.core.jobs.trigger import again, by_event, by_parent, by_retry, by_run, called, with_user, words


@pytest.mark.parametrize(
    ("trigger", "said"),
    [
        (called(by="anna", program="holdfast run"), "called by anna (holdfast run)"),
        (called(by="anna"), "called by anna"),
        (called(origin="10.0.0.5"), "called from 10.0.0.5"),
        (by_event("e1", "git:commit"), "event git:commit"),
        (by_parent("12", "r"), "child of job 12"),
        (by_run("12", "r"), "a run of job 12"),
        (by_retry("r", RunStatus.FAILED), "again after FAILED"),
        ('{"kind":"retry","job_id":"7"}', "retry of job 7"),
        (
            '{"kind":"schedule","schedule":"nightly","fire_time":1794796200000}',
            "tick 1794796200000 of schedule nightly",
        ),
        ('{"kind":"schedule","schedule":"nightly","manual":true}', "schedule nightly, run by hand"),
        ('{"kind":"watch","watch":"src","change":"modified","path":"a.py"}', "watch src: modified a.py"),
        ('{"kind":"watch","watch":"src"}', "watch src"),
        ('{"kind":"webhook","webhook_id":"w","event_id":"e"}', "webhook w, for event e"),
        (again("7", called(user="ci", origin="10.0.0.5")), "retry of job 7, by ci from 10.0.0.5"),
        (again("7", None), "retry of job 7"),
        (with_user(by_parent("12", "r"), "ci", None), "child of job 12, by ci"),
        ('{"kind":"canary"}', "a canary of the daemon's own"),
        ('{"kind":"made up"}', '{"kind":"made up"}'),
        ("not JSON", "not JSON"),
        (None, ""),
    ],
)
def test_a_trigger_is_said_as_people_say_it(trigger: str | None, said: str) -> None:
    assert words(trigger, str) == said


def test_a_tick_is_said_in_utc_where_nobody_says_otherwise() -> None:
    trigger = '{"kind":"schedule","schedule":"nightly","fire_time":1794796200000}'
    assert words(trigger) == "tick 2026-11-16 02:30 UTC of schedule nightly"


KINDS = st.sampled_from(["call", "schedule", "event", "parent", "retry", "run", "watch", "webhook", "canary"])
VALUES = st.none() | st.booleans() | st.integers() | st.text() | st.lists(st.integers())


@given(
    st.text()
    | st.builds(
        lambda kind, about: msgspec.json.encode(about | {"kind": kind}).decode(),
        KINDS,
        st.dictionaries(
            st.sampled_from(["by", "user", "origin", "job_id", "run_id", "name", "fire_time", "schedule", "path"]),
            VALUES,
        ),
    )
)
def test_whatever_stands_in_a_trigger_can_be_said(trigger: str) -> None:
    assert isinstance(words(trigger), str)
