"""Chores of the database, from the command line."""

from __future__ import annotations

from holdfast.core.machine.maintenance import Chore
from tests.cli.shell import Shell


def test_a_chore_is_done_and_says_what_it_did(sh: Shell) -> None:
    [line] = sh.ok("maintain", "events", "--wait").lines
    assert line.endswith(": holdfast.events, removed 0")


def test_the_list_says_what_the_last_one_did(sh: Shell) -> None:
    sh.ok("maintain", "checkpoint", "--wait")
    [found] = [one for one in sh.ok("maintain", "--json").json if one["chore"] == "checkpoint"]
    assert found["last"]["state"]["name"] == "DONE"
    assert any(line.startswith("checkpoint") for line in sh.ok("maintain").lines)


def test_a_chore_that_does_not_wait_is_named(sh: Shell) -> None:
    sh.ok("pause", "holdfast.maintenance")
    try:
        [job] = sh.ok("maintain", "machines", "--json").json
        assert (job["task"], job["queue"]) == ("holdfast.machines", "holdfast.maintenance")
        assert "is paused" in sh.ok("why", str(job["number"])).out
        terminal = sh.terminal("maintain", "machines", "--wait")
        terminal.wait_for(f"job {job['number']} waits: queue 'holdfast.maintenance' is paused")
        terminal.interrupt()
        assert terminal.end() == 130
        assert sh.ok("maintain", "machines").err.startswith("queue holdfast.maintenance is paused, so this waits")
    finally:
        sh.ok("resume", "holdfast.maintenance")


def test_an_unknown_chore_is_a_mistake(sh: Shell) -> None:
    assert sh("maintain", "laundry").code == 2


def test_the_help_names_every_chore(empty: Shell) -> None:
    words = empty.ok("maintain", "--help").out.split()
    assert [chore for chore in (*Chore, "all:") if chore not in words] == []
