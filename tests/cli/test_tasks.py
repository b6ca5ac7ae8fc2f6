"""Tasks from the command line: which there are, and requests by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.shell import Shell


def test_they_are_listed(sh: Shell) -> None:
    said = sh.ok("tasks").out
    [hold] = [line for line in said.splitlines() if line.startswith("hold ")]
    assert hold.split()[:3] == ["hold", "1", "slow"]
    assert "until: string" in hold
    assert "Runs until the file is there." in hold
    assert [task["name"] for task in sh.ok("tasks", "--json").json] == sorted(
        ["double", "fail", "hold", "announce", "announce_alone", "second_time", "leave", "loud_once", "variable"]
    )


def test_one_is_shown_with_all_about_it(sh: Shell) -> None:
    said = sh.ok("tasks", "second_time").out
    for words in ("Fails once.", "app:", "retries 1", "path: string"):
        assert words in said
    assert sh.ok("tasks", "second_time", "--json").json["versions"][0]["options"]["policy"]["retries"] == 1
    missing = sh("tasks", "doubel")
    assert (missing.code, "did you mean 'double'?" in missing.err, "--anyway" in missing.err) == (1, True, False)


def test_a_job_by_name_has_the_options_of_its_task(sh: Shell, tmp_path: Path) -> None:
    job = sh.ok("enqueue", "hold", f'{{"until": "{tmp_path}"}}', "--json").json
    assert job["queue"] == "slow"
    sh.ok("wait", job["number"])


@pytest.mark.parametrize(
    ("words", "undo"),
    [
        (("enqueue", "doubel", '{"x": 1}'), ("cancel", "--task", "doubel", "--yes")),
        (("template", "add", "t", "--task", "doubel"), ("template", "archive", "t")),
        (("schedule", "add", "s", "--cron", "@yearly", "--task", "doubel"), ("schedule", "rm", "s", "--yes")),
        (("watch", "add", "{folder}", "--task", "doubel", "--name", "w"), ("watch", "rm", "w", "--yes")),
    ],
)
def test_a_misspelt_name_is_refused_where_it_is_typed(
    sh: Shell, tmp_path: Path, words: tuple[str, ...], undo: tuple[str, ...]
) -> None:
    typed = [word.replace("{folder}", str(tmp_path)) for word in words]
    said = sh(*typed)
    assert said.code == 1
    assert "there is no task 'doubel' (did you mean 'double'?); to store it all the same: --anyway" in said.err
    sh.ok(*typed, "--anyway")
    sh.ok(*undo)


def test_the_doctor_names_tasks_that_jobs_wait_for_in_vain(sh: Shell) -> None:
    number = sh.number("enqueue", "doubel", '{"x": 1}', "--anyway")
    said = f"job {number} waits for task 'doubel', which no worker has declared; did you mean 'double'?"
    assert said in sh.ok("doctor").out
    sh.ok("enqueue", "doubel", '{"x": 2}', "--anyway")
    assert f"2 jobs wait, such as {number}, for task 'doubel'" in sh.ok("doctor").out
    sh.ok("cancel", "--task", "doubel", "--yes")
    assert "doubel" not in sh.ok("doctor").out


@pytest.mark.parametrize(
    ("payload", "says"),
    [
        ("{}", "'x' is missing"),
        ('{"x": "1"}', "takes integer, not string"),
        ('{"y": 1, "x": 1}', "it has no argument 'y'"),
    ],
)
def test_arguments_that_do_not_fit_are_refused_where_they_are_typed(sh: Shell, payload: str, says: str) -> None:
    said = sh("enqueue", "double", payload)
    assert (said.code, says in said.err) == (2, True)


def test_the_shell_completes_them(sh: Shell) -> None:
    asked = {"_HOLDFAST_COMPLETE": "bash_complete", "COMP_WORDS": "holdfast enqueue doub", "COMP_CWORD": "2"}
    assert "plain,double" in sh("enqueue", env=asked).out
    asked = {"_HOLDFAST_COMPLETE": "zsh_complete", "COMP_WORDS": "holdfast tasks hol", "COMP_CWORD": "2"}
    assert "Runs until the file is there." in sh("tasks", env=asked).out


def test_a_daemon_without_code_says_what_to_do(empty: Shell) -> None:
    empty.ok("up", "--detach")
    assert "no worker has declared a task yet; try: holdfast up --app" in empty.ok("tasks").err
    said = empty("enqueue", "anything")
    assert (said.code, "no worker has declared any task yet" in said.err) == (1, True)
    assert empty.number("enqueue", "anything", "--anyway") > 0
    empty.ok("down")
