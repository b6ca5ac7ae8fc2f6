"""What tasks print and log at a daemon in the background: in the logs of their runs, and nothing of it elsewhere."""

from __future__ import annotations

import pytest

from tests.chaos.processes import PATIENCE_S, until
from tests.cli.shell import Shell
from tests.daemon.house import APPS, House


@pytest.fixture
def sh(house: House) -> Shell:
    """A shell for a home with settings."""
    house.settings('[logs]\nmax_bytes = "64KiB"\nfiles = 2\n')
    return Shell(house.home)


def test_it_is_in_the_log_of_its_run_and_the_rest_is_in_one_file(house: House, sh: Shell) -> None:
    sh.ok("up", "-d", "--app", f"{APPS / 'talkative'}.py")
    said = {}
    for task in ("coroutine", "function", "process"):
        job = house.enqueue(task)
        job.result(PATIENCE_S)
        said[task] = [line.partition("Z ")[2] or line for line in job.tail(100).splitlines()]
    assert said["coroutine"] == ["the coroutine", "INFO    some.library: logged by it", "its thread"]
    assert said["function"] == ["the function", "WARNING some.library: logged by its thread"]
    # Such a process loads the module itself.
    assert said["process"] == ["the module is loaded", "the process", "INFO    some.library: logged by it"]
    assert house.home.printed.read_text() == "the module is loaded\n"
    assert "logged by its thread" in house.home.log.with_name("worker-app-1.log").read_text()
    sh.ok("down")


def test_what_belongs_to_no_run_is_kept_in_bounds(house: House, sh: Shell) -> None:
    house.home.create()
    house.home.printed.write_text("of before\n" * 10_000)
    sh.ok("up", "-d", "--app", f"{APPS / 'talkative'}.py")
    older = house.home.printed.with_name("daemon.err.1")
    until(older.exists, "it was begun anew")
    until(lambda: house.home.printed.stat().st_size < 1_000, "it is short")
    assert older.read_text().startswith("of before\n")
    house.enqueue("stray").result(PATIENCE_S)
    until(lambda: "stray\n" in house.home.printed.read_text(), "those who print go on at the new end")
    assert not house.home.printed.read_bytes().startswith(b"\0")
    sh.ok("down")
