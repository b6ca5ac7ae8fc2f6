"""`holdfast show`: what is known of one job."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.cli.shell import Shell


def shown(sh: Shell, job: object) -> dict[str, str]:
    """The fields that are shown of a job, by their labels."""
    fields = sh.ok("show", job).out.partition("\n\n")[0].splitlines()
    return {label.rstrip(): value for label, _, value in (line.partition("  ") for line in fields)}


def stored(sh: Shell, job: object) -> Any:
    return sh.ok("show", job, "--json").json


def test_it_tells_what_a_job_waited_for_when_it_came(sh: Shell) -> None:
    words: dict[str, list[str]] = {
        "at once": [],
        "after a delay": ["--delay", "1h"],
        "at a moment": ["--at", "2090-01-31T18:30"],
        "on a condition": ["--on-event", "never:told"],
    }
    for said, options in words.items():
        job = sh.number("enqueue", "double", '{"x": 1}', *options)
        assert shown(sh, job)["starts"].strip() == said
        sh("cancel", job)
    delayed = sh.number("enqueue", "double", '{"x": 1}', "--delay", "2h")
    assert shown(sh, delayed)["delay"].strip() == "2h"
    assert stored(sh, delayed)["job"]["schedule_type"] == "AFTER"


def test_it_tells_where_the_log_and_the_artifacts_of_the_last_run_are(sh: Shell) -> None:
    for words in (
        ("run", "--", "sh", "-c", "echo hello; touch $HOLDFAST_ARTIFACTS/note.txt"),
        ("enqueue", "leave", '{"name": "note.txt"}'),
    ):
        job = sh.number(*words)
        sh.ok("wait", job)
        found, fields = stored(sh, job)["job"], shown(sh, job)
        assert fields["log"].strip() == found["log_path"]
        assert fields["in folder"].strip() == found["artifact_path"]
        assert [file.name for file in Path(found["artifact_path"]).iterdir()] == ["note.txt"]
        assert any("hello" in file.read_text() for file in Path(found["log_path"]).iterdir())


def test_a_run_without_a_log_shows_none_even_after_one_that_had_one(sh: Shell, tmp_path: Path) -> None:
    job = sh.number("enqueue", "loud_once", f'{{"path": "{tmp_path / "been"}"}}')
    sh.ok("wait", job)
    told = stored(sh, job)
    first, second = told["runs"]
    assert first["log_path"] is not None
    assert (second["log_path"], told["job"]["log_path"]) == (None, None)
    assert "log" not in shown(sh, job)


def test_it_names_the_template_that_a_run_was_made_from(sh: Shell) -> None:
    template = sh.ok("template", "add", "kept", "--task", "double", "--payload", '{"x": 4}', "--json").json
    job = sh.number("template", "run", "kept")
    sh.ok("wait", job)
    sh.ok("template", "archive", "kept")
    assert [run["template_id"] for run in stored(sh, job)["runs"]] == [template["id"]]
    assert shown(sh, job)["template"].strip() == "kept"
    assert "template" not in shown(sh, sh.number("enqueue", "double", '{"x": 1}'))


def test_variables_are_shown_but_not_what_looks_secret(sh: Shell) -> None:
    job = sh.number("run", "-e", "API_KEY=hunter2", "--env", "COLOUR=red", "--", "true")
    assert shown(sh, job)["env"].strip() == "API_KEY=*** COLOUR=red"
    assert stored(sh, job)["job"]["env"] == {"API_KEY": "hunter2", "COLOUR": "red"}
    sh.ok("template", "add", "coloured", "-e", "API_KEY=hunter2", "-e", "COLOUR=red", "--", "sh", "-c", "echo $COLOUR")
    told = sh.ok("template", "show", "coloured").out
    assert "env API_KEY=*** COLOUR=red" in told
    assert "hunter2" not in told
    assert sh.ok("template", "run", "coloured", "--wait").out == "red\n"
