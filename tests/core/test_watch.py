"""What a change is, when it is time to look, how much is too much, and what the rules of a watch may say."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast.core.errors import InvalidInput
from holdfast.core.rules.limits import MAX_SUBJECT
from holdfast.core.values.glob import GLOB, matcher
from holdfast.core.values.watch import (
    DEBOUNCE_MS,
    MAX_WAIT_MS,
    WINDOW_S,
    Budget,
    Burst,
    Change,
    FileChange,
    SeenFile,
    Settling,
    differences,
    speakable,
)
from holdfast.core.watching.new_watch import NewWatch, check_watch
from holdfast.core.watching.planning import about_change, filled, job_of, subject_of


def watch(**fields: Any) -> NewWatch:
    return NewWatch(**{"id": "w1", "name": "src", "path": "/home/me/src", "task": "index"} | fields)


@pytest.mark.parametrize(
    ("glob", "path", "is_meant"),
    [
        ("*.py", "a.py", True),
        ("*.py", "deep/down/a.py", True),
        ("*.py", "a.pyc", False),
        ("**/*.py", "a.py", True),
        ("**/*.py", "deep/down/a.py", True),
        ("src/*.py", "src/a.py", True),
        ("src/*.py", "src/deep/a.py", False),
        ("src/*.py", "other/src/a.py", False),
        ("src/**", "src/deep/a", True),
        ("src/**", "src", False),
        ("src/**/test_*.py", "src/test_a.py", True),
        ("src/**/test_*.py", "src/x/y/test_a.py", True),
        ("?.txt", "a.txt", True),
        ("?.txt", "ab.txt", False),
        ("[a-c].txt", "b.txt", True),
        ("[!a-c].txt", "b.txt", False),
        ("a+b(c).txt", "a+b(c).txt", True),
        ("**", "any/thing", True),
        ("name\nwith", "name\nwith", True),
    ],
)
def test_a_glob_means_what_people_expect(glob: str, path: str, is_meant: bool) -> None:
    assert matcher([glob])(path) is is_meant


def test_without_globs_everything_is_meant_and_with_several_any_of_them() -> None:
    assert matcher([])("any/thing")
    assert matcher(["*.py", "*.md"])("a.md")


@pytest.mark.parametrize("glob", ["", "/abs", "../up", "a/../b", "folder/", "[z-a]", "a\x00b"])
def test_a_glob_that_cannot_work_is_refused(glob: str) -> None:
    with pytest.raises(InvalidInput, match="glob"):
        GLOB.check("glob", glob)


def test_what_differs_is_added_modified_or_deleted() -> None:
    known = {"same": "1", "changed": "1", "gone": "1"}
    seen = [
        SeenFile("new", "1"),
        SeenFile("same", "1"),
        SeenFile("gone", None),
        SeenFile("changed", "2"),
        SeenFile("never", None),
    ]
    assert differences(known, seen) == [
        FileChange("changed", "2", Change.MODIFIED),
        FileChange("gone", None, Change.DELETED),
        FileChange("new", "1", Change.ADDED),
    ]


def test_a_look_waits_until_it_is_quiet() -> None:
    assert Burst(10.0, 10.4).due(50, 1_000) == pytest.approx(10.45)


@pytest.mark.parametrize("gap_ms", [20, 40, 60, 80])
def test_a_stream_with_short_pauses_is_not_quiet(gap_ms: int) -> None:
    assert Burst(10.0, 10.0).due(DEBOUNCE_MS, MAX_WAIT_MS) > 10.0 + gap_ms / 1000


def test_a_constant_stream_gets_through() -> None:
    assert Burst(10.0, 99.0).due(50, 1_000) == 11.0


def test_too_many_jobs_within_the_window_are_bulk_and_later_ones_are_not() -> None:
    budget = Budget()
    assert not budget.is_bulk(100, 100, 0.0)
    budget.note(100, 0.0)
    assert budget.is_bulk(1, 100, WINDOW_S - 0.1)
    assert not budget.is_bulk(100, 100, WINDOW_S)


def test_a_file_settles_when_it_has_looked_the_same_for_long_enough() -> None:
    settling = Settling(2_000)
    growing = FileChange("a", "1", Change.ADDED)
    assert settling.sort([growing], 10.0) == ([], {"a": 12.0})
    grown = FileChange("a", "2", Change.ADDED)
    assert settling.sort([grown], 11.9) == ([], {"a": 13.9})
    assert settling.sort([grown], 13.8) == ([], {"a": 13.9})
    assert settling.sort([grown], 13.9) == ([grown], {})
    # What is known of it is forgotten by then.
    assert settling.sort([grown], 14.0) == ([], {"a": 16.0})


def test_a_file_that_is_gone_settles_at_once() -> None:
    gone = FileChange("a", None, Change.DELETED)
    assert Settling(2_000).sort([gone], 10.0) == ([gone], {})


def test_a_template_is_filled_with_values_as_they_are_or_as_text() -> None:
    template = {"n": "{paths_changed}", "text": "{{{relative}}} of {watch}", "list": ["{bulk}", 7]}
    assert filled(template, {"paths_changed": 3, "relative": "a.py", "watch": "w", "bulk": True}) == {
        "n": 3,
        "text": "{a.py} of w",
        "list": [True, 7],
    }


def test_the_job_of_a_change_says_where_and_what() -> None:
    about = about_change(watch(), FileChange("deep/a.py", "1", Change.ADDED))
    job = job_of(watch(), about, "j1")
    assert job.payload == '{"path":"/home/me/src/deep/a.py","relative":"deep/a.py","change":"added"}'
    assert (job.subject, job.tenant) == ("watch::src::deep/a.py", "watch::src")
    assert job.trigger == '{"kind":"watch","watch":"src","path":"/home/me/src/deep/a.py","change":"added"}'


def test_a_subject_that_would_be_too_long_is_cut_and_stays_its_own() -> None:
    long, other = ("x" * 2_000 + end for end in "ab")
    subjects = {subject_of("watch::{relative}", {"relative": text}) for text in (long, other)}
    assert len(subjects) == 2
    assert all(len(subject) == MAX_SUBJECT for subject in subjects)


def test_a_name_that_is_not_text_can_be_said() -> None:
    assert speakable(b"a\xff\n.py".decode("utf-8", "surrogateescape")) == "a\\xff\\x0a.py"


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"path": "src"}, "path 'src' is not valid: use an absolute path"),
        ({"path": "/a/../b"}, "use an absolute path .* without"),
        ({"path": "/a/"}, "use an absolute path"),
        ({"path": "/a/."}, "use an absolute path"),
        ({"path": "/a\n"}, "use an absolute path"),
        ({"path": "/"}, "not / itself"),
        ({"globs": ("/x",)}, "globs '/x' is not valid: use .* as seen from the folder"),
        ({"globs": ("[z-a]",)}, "the range z-a ends before it begins"),
        ({"kind": "git", "globs": ("*.py",)}, "a watch of a git repository has no globs"),
        ({"subject": "a::{nobody}"}, "names 'nobody'; a folder watch knows bulk, change"),
        ({"subject": "a::{"}, "has a brace that names nothing"),
        ({"kind": "git", "subject": "{relative}"}, "names 'relative'; a git watch knows"),
        ({"payload": "[]"}, "the payload is not a JSON object"),
        ({"payload": "{"}, "the payload is not JSON"),
        ({"payload": '{"a": {"b": ["{nobody}"]}}'}, "names 'nobody'"),
        ({"max_jobs": 0}, "max_jobs 0 is not valid"),
        ({"subject": "a::{paths}"}, "names 'paths', which is a list: it stands alone, in the payload"),
        ({"payload": '{"a": "all: {paths}"}'}, "names 'paths', which is a list"),
        ({"payload": '{"a": "{paths}", "b": "{paths}"}'}, "names 'paths' twice"),
        ({"kind": "git", "payload": '{"a": "{paths}"}'}, "names 'paths'; a git watch knows"),
        ({"kind": "git", "settle_ms": 5}, "a watch of a git repository has no settle"),
        ({"timeout_ms": -1}, "timeout_ms -1 is not valid"),
        ({"globs": ("a",) * 1_001}, "globs .* is not valid: use at most 1000 of them"),
        ({"name": "a b"}, "name 'a b' is not valid"),
        ({"kind": "tree"}, "use one of 'folder', 'git'"),
    ],
)
def test_a_watch_that_cannot_work_is_refused(fields: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidInput, match=says):
        check_watch(watch(**fields))


def test_what_a_watch_was_told_to_wait_beyond_the_usual_is_not_the_wait_of_a_change() -> None:
    burst = Burst(first=1.0, last=10.0)
    assert burst.waited(10.5, DEBOUNCE_MS) == 0.5
    assert burst.waited(70.5, DEBOUNCE_MS + 60_000) == 0.5
    assert burst.waited(10.5, DEBOUNCE_MS + 60_000) == 0.0
    assert burst.waited(10.5, 0) == 0.5
