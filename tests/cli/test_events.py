"""Events and conditions on the command line, with a real daemon and a machine that is simulated."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.chaos.processes import until
from tests.cli.shell import Shell
from tests.daemon.house import House


def test_a_command_waits_for_all_that_was_said(sh: Shell, tmp_path: Path) -> None:
    first = sh.number("run", "--", "sh", "-c", f"while [ ! -e {tmp_path}/end ]; do sleep 0.02; done")
    sh.ok("simulate", "idle=off", "charging=off")
    words = ("--when-idle", "--when-charging", "--on-event", "git:commit", "--after", first)
    job = sh.number("run", *words, "--", "touch", tmp_path / "world")
    assert closed(sh, job) == {"event", "dependencies", "idle", "charging"}
    said = sh.ok("why", job).out
    assert "it waits for an event 'git:commit'" in said
    assert "opens with: holdfast emit git:commit" in said
    sh.ok("emit", "git:commit")
    until(lambda: closed(sh, job) == {"dependencies", "idle", "charging"}, "the event has reached it")
    (tmp_path / "end").touch()
    sh.ok("wait", first)
    sh.ok("simulate", "idle=on", "charging=off")
    until(lambda: closed(sh, job) == {"charging"}, "only mains power is missing")
    sh.ok("simulate", "idle=on", "charging=on")
    sh.ok("wait", job)
    assert (tmp_path / "world").exists()
    shown = sh.ok("show", job).out
    assert "by event git:commit" in shown
    assert f"job {first}" in shown
    assert "not yet" not in shown
    sh.ok("simulate", "off")


def closed(sh: Shell, job: int) -> set[str]:
    """The gates that hold a job."""
    gates: list[dict[str, Any]] = sh.ok("why", job, "--json").json["gates"]
    return {gate["gate"] for gate in gates if gate["gate_is"] == "closed"}


def test_an_event_is_told_and_listed_with_what_it_let_go(sh: Shell) -> None:
    job = sh.number("enqueue", "double", '{"x": 21}', "--on-event", "cli:*", "--where", "n=1", "--where", "a=b c")
    assert "no job waited for it" in sh.ok("emit", "cli:go", "n=2", "a=b c").out
    told = sh.ok("emit", "cli:go", "n=1", "a=b c", "--json").json
    assert told["waiting"] == 1
    sh.ok("wait", job)
    newest, _ = sh.ok("events", "--name", "cli:*", "--json").json["events"]
    assert (newest["event"]["id"], [one["number"] for one in newest["jobs"]]) == (told["id"], [job])
    line = sh.ok("events", "-n", 1).lines[1]
    assert all(part in line for part in (told["id"], "cli:go", "a=b c n=1", "(holdfast emit)", f"job {job}"))
    shown = sh.ok("events", "show", told["id"]).lines[-1]
    assert shown.split() == [str(job), "DONE", "waited", "for", "it"]
    said = sh.ok("show", job).out
    assert "called by" in said
    assert "(holdfast enqueue)" in said
    assert "event cli:go" in said.splitlines()[-1]


def test_an_event_has_a_number_and_data(sh: Shell) -> None:
    first = sh.ok("emit", "data:one", "--data", '{"level": [80, null], "token": "abc"}', "--json").json
    second = sh.ok("emit", "data:two", "--data", '"text"', "--json").json
    assert (first["data"], second["data"]) == ({"level": [80, None], "token": "abc"}, "text")
    newest, older = (view["event"] for view in sh.ok("events", "--name", "data:*", "--json").json["events"])
    assert (newest["number"], older["number"]) == (second["number"], first["number"])
    assert newest["number"] > older["number"]
    shown = sh.ok("events", "show", first["id"]).out
    assert '{"level":[80,null],"token":"***"}' in shown
    assert f"number        {first['number']}" in shown


@pytest.mark.parametrize("task", ["announce", "announce_alone"])
def test_an_event_of_a_run_shows_its_job(sh: Shell, task: str) -> None:
    job = sh.number("enqueue", task, f'{{"name": "{task}"}}')
    sh.ok("wait", job)
    assert f"a run of job {job}" in sh.ok("events", "--name", task).out


def test_events_are_followed(sh: Shell, house: House) -> None:
    hf = house.client()
    hf.emit("followed:0")
    following = sh.start("events", "--follow", "--name", "followed:*", "--json")
    try:
        assert following.stdout is not None
        assert "followed:0" in following.stdout.readline()
        for number in (1, 2, 3):
            hf.emit(f"followed:{number}")
            assert f"followed:{number}" in following.stdout.readline()
    finally:
        following.kill()
        following.communicate()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("emit", "two words"), "event 'two words' is not valid"),
        (("emit", "go", "branch"), "'branch' is not an attribute: write KEY=VALUE"),
        (("emit", "go", "a=1", "a=2"), "'a' is given twice"),
        (("emit", "go", "--data", "{level: 80}"), "--data '{level: 80}' is not JSON"),
        (("events", "--name", "*x"), "name '*x' is not valid"),
        (
            ("run", "--where", "a=b", "--", "true"),
            "--where {'a': 'b'} means nothing without --on-event: give that as well",
        ),
        (("run", "--on-event", "two words", "--", "true"), "--on-event 'two words' is not valid"),
        (("run", "--on-event", "go", "--where", "a", "--", "true"), "--where 'a' is not an attribute"),
    ],
    ids=str,
)
def test_a_mistake_is_one_line(sh: Shell, words: tuple[str, ...], said: str) -> None:
    ended = sh(*words)
    assert (ended.code, said in ended.err, len(ended.err.splitlines())) == (2, True, 1), ended.err


def test_whoever_finds_no_events_hears_which_are_not_kept(sh: Shell) -> None:
    assert "are kept only if a job or a webhook wants them" in sh.ok("events", "--name", "job.*").err


def test_an_event_that_is_not_there_is_not_found(sh: Shell) -> None:
    ended = sh("events", "show", "nowhere")
    assert (ended.code, "events are kept for a day" in ended.err) == (1, True)
