"""Watches as they are stored, and those of the settings."""

from __future__ import annotations

import pytest

from holdfast.core.errors import Conflict, InvalidInput, NotFound
from holdfast.core.watching.new_watch import NewWatch
from holdfast.store.engine import Engine
from holdfast.store.scripts.watches.plans import files_behind, note_problem
from holdfast.store.scripts.watches.watches import (
    find_watch,
    list_watches,
    pause_watch,
    remove_watch,
    settle_file_watches,
    watches_of_node,
)
from holdfast.store.topics import WATCHES
from tests.store.acts import NOW, write
from tests.store.watch_acts import add, jobs, new, planned


def test_a_watch_is_found_by_its_name_and_by_its_id(engine: Engine) -> None:
    stored = add(engine, globs=("*.py",), ignores=("x/",), debounce_ms=5, queue="code")
    assert (stored.globs, stored.ignores, stored.debounce_ms, stored.queue) == (["*.py"], ["x/"], 5, "code")
    assert engine.query(find_watch, "src") == engine.query(find_watch, "w1") == stored
    assert engine.query(list_watches) == [stored]


def test_a_repeat_is_the_same_watch_and_another_one_of_the_name_is_refused(engine: Engine) -> None:
    assert add(engine) == add(engine)
    with pytest.raises(Conflict, match="there is a watch 'src' already, of /src"):
        add(engine, watch_id="w2", path="/other")
    with pytest.raises(Conflict, match="the id w1 is that of watch 'src'"):
        add(engine, "other")


def test_replacing_keeps_what_was_seen_unless_it_is_about_another_folder(engine: Engine) -> None:
    add(engine)
    planned(engine, ("a.py", "1"))
    again = add(engine, watch_id="w2", replace=True, task="other")
    assert (again.id, again.task, again.files) == ("w1", "other", 1)
    assert add(engine, watch_id="w3", replace=True, path="/elsewhere").files == 0


def test_what_does_not_fit_is_refused(engine: Engine) -> None:
    with pytest.raises(InvalidInput, match="use an absolute path"):
        add(engine, path="src")
    with pytest.raises(NotFound, match="there is no watch 'src'"):
        engine.query(find_watch, "src")


def test_removing_forgets_what_was_seen_and_keeps_the_jobs(engine: Engine) -> None:
    add(engine)
    planned(engine, ("a.py", "1"))
    assert write(engine, remove_watch, "src").files == 1
    assert engine.query(files_behind, "w1", "", 10) == []
    assert len(jobs(engine)) == 1


def test_watches_tell_the_planner_of_this_process(engine: Engine) -> None:
    heard = []
    leave = engine.listen(lambda changes: heard.append(WATCHES in changes.topics))
    add(engine)
    leave()
    assert True in heard


def test_a_problem_is_shown_until_it_is_over(engine: Engine) -> None:
    add(engine)
    write(engine, note_problem, "w1", "the folder is not there")
    assert engine.query(find_watch, "src").problem == "the folder is not there"
    write(engine, note_problem, "w1", None)
    assert engine.query(find_watch, "src").problem is None


def settle(engine: Engine, *watches: NewWatch, node: str = "here") -> list[str]:
    return write(engine, settle_file_watches, list(watches), node, NOW)


def test_watches_of_the_settings_come_stay_change_and_go_with_them(engine: Engine) -> None:
    settle(engine, new(), new("docs", "w2"))
    write(engine, pause_watch, "docs", NOW)
    before = engine.query(watches_of_node, "here")
    settle(engine, new("src", "w3"), new("docs", "w4"))
    assert engine.query(watches_of_node, "here") == before
    settle(engine, new("src", "w5", task="other"))
    [left] = engine.query(watches_of_node, "here")
    assert (left.id, left.told.task, left.origin) == ("w1", "other", "file")


def test_watches_of_the_settings_are_changed_there_alone(engine: Engine) -> None:
    settle(engine, new(), node=engine.node)
    with pytest.raises(Conflict, match="comes from the daemon's settings"):
        write(engine, remove_watch, "src")
    with pytest.raises(Conflict, match="comes from the daemon's settings"):
        add(engine, watch_id="w2", replace=True)


def test_a_watch_belongs_to_one_machine(engine: Engine) -> None:
    settle(engine, new(), node="there")
    assert engine.query(watches_of_node, "here") == []
    assert settle(engine, new("src", "w2")) == ["the watch 'src' belongs to node 'there'; give yours another name"]
    with pytest.raises(Conflict, match="belongs to node 'there'"):
        add(engine, watch_id="w3", replace=True)
    assert [watch.node for watch in engine.query(list_watches)] == ["there"]


def test_a_watch_that_was_added_by_hand_is_not_taken_over(engine: Engine) -> None:
    add(engine)
    assert settle(engine, new("src", "w2"), node=engine.node) == [
        "there is a watch 'src' that was added by hand; remove it, or rename yours"
    ]
