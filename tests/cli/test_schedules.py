"""Templates and schedules from the command line."""

from __future__ import annotations

import pytest

from tests.chaos.processes import until
from tests.cli.shell import Shell

NEVER = "0 0 29 2 *"  # once in four years: nobody sees it fire


def test_a_template_is_kept_changed_run_and_archived(sh: Shell) -> None:
    sh.ok("template", "add", "twice", "--task", "double", "--payload", '{"x": 4}', "--priority", 3, "--timeout", "90s")
    assert "priority 3, timeout 1m 30s" in sh.ok("template", "ls").out
    assert sh.ok("template", "run", "twice", "--wait").out == "8\n"
    assert (
        sh.ok("template", "edit", "twice", "--payload", '{"x": 5}', "--tag", "new", "--json").json["payload"]
        == '{"x":5}'
    )
    assert sh.ok("template", "run", "twice", '{"x": 6}', "--wait").out == "12\n"
    shown = sh.ok("template", "show", "twice").out
    assert "priority 3" in shown
    assert "tag new" in shown
    assert "template 'twice' already" in sh("template", "add", "twice", "--task", "other").err
    assert sh.ok("template", "archive", "twice").out == "template twice is archived\n"
    assert sh("template", "run", "twice").code == 1


def test_the_options_of_a_template_and_a_schedule_are_called_as_those_of_a_job(sh: Shell) -> None:
    words = ("--when-idle", "-e", "T=1", "-e", "SAID=one word", "--on-event", "ev", "--where", "k=v", "--retries", 2)
    said = 'retries 2, when idle, env T=1 SAID="one word", on event ev, where k=v'
    sh.ok("template", "add", "waiting", *words, "--", "true")
    assert said in sh.ok("template", "show", "waiting").out
    assert said in sh.ok("template", "ls").out
    sh.ok("schedule", "add", "waiting", "--cron", NEVER, "--template", "waiting", *words)
    assert said in sh.ok("schedule", "show", "waiting").out


def test_a_template_may_be_a_command(sh: Shell) -> None:
    sh.ok("template", "add", "greet", "--", "sh", "-c", "echo hello; exit 3")
    said = sh("template", "run", "greet", "--wait")
    assert (said.code, said.out) == (3, "hello\n")
    assert "sh -c 'echo hello; exit 3'" in sh.ok("template", "ls").out


def test_a_schedule_says_in_words_when_it_fires(sh: Shell) -> None:
    sh.ok("template", "add", "clean", "--task", "double", "--payload", '{"x": 1}')
    words = ("--cron", "30 2 * * *", "--tz", "Europe/Berlin", "--template", "clean", "--jitter", "5m", "-p", 4)
    said = sh.ok("schedule", "add", "nightly", *words).out
    assert "At 02:30 every day, Europe/Berlin time" in said
    assert "up to 5m" in said
    listed = sh.ok("schedule", "ls").out
    assert "nightly  on" in listed
    assert "At 02:30 every day" in listed
    found = sh.ok("schedule", "show", "nightly", "--json").json
    assert (found["schedule"]["options"], len(found["next"])) == ({"priority": 4}, 5)


def test_a_schedule_is_changed_paused_resumed_and_deleted(sh: Shell) -> None:
    sh.ok("schedule", "add", "yearly", "--cron", NEVER, "--task", "double", "--payload", '{"x": 7}')
    assert "At 04:00 on Sunday" in sh.ok("schedule", "edit", "yearly", "--cron", "0 4 * * SUN", "--misfire", "skip").out
    sh.ok("schedule", "pause", "yearly", "--reason", "holidays")
    assert "off: holidays" in sh.ok("schedule", "ls").out
    assert "next if it goes on".upper() in sh.ok("schedule", "show", "yearly").out
    assert sh.ok("schedule", "resume", "yearly").out.startswith("yearly goes on; next: Sun ")
    assert "add --yes" in sh("schedule", "rm", "yearly").err
    assert sh.ok("schedule", "rm", "yearly", "--yes").out == "schedule yearly is deleted\n"
    said = sh("schedule", "show", "yearly")
    assert (said.code, said.err) == (1, "holdfast: there is no schedule 'yearly'; see: holdfast schedule ls\n")


def test_a_schedule_is_run_now(sh: Shell) -> None:
    sh.ok("schedule", "add", "by-hand", "--cron", NEVER, "--task", "double", "--payload", '{"x": 8}')
    assert sh.ok("schedule", "run", "by-hand", "--wait").out == "16\n"
    number = sh.number("schedule", "run", "by-hand")
    assert "schedule by-hand, run by hand" in sh.ok("show", number).out
    sh.ok("wait", number)
    assert f"{number} " in sh.ok("schedule", "show", "by-hand").out


def test_a_job_tells_the_tick_that_it_was_made_for(sh: Shell) -> None:
    sh.ok("schedule", "add", "often", "--cron", "* * * * * *", "--queue", "ticks", "--", "true")
    until(lambda: sh.ok("ls", "--schedule", "often", "-q").lines, "it has fired")
    sh.ok("schedule", "rm", "often", "--yes")
    page = sh.ok("ls", "--queue", "ticks", "--json").json
    job = page["jobs"][-1]["number"]
    assert "of schedule often" in sh.ok("show", job).out
    assert "of schedule often" in sh.ok("ls", "--queue", "ticks").out


def test_the_next_fires_of_an_expression_need_no_daemon(empty: Shell) -> None:
    said = empty.ok("schedule", "next", "--cron", "0 12 * * *", "--tz", "Asia/Seoul", "-n", 3)
    assert said.lines[0] == "At 12:00 every day, Asia/Seoul time"
    assert [line.split()[2:4] for line in said.lines[1:]] == [["12:00:00", "KST"]] * 3
    found = empty.ok("schedule", "next", "--cron", "0 12 * * *", "--json").json
    assert len(found["next"]) == 5


def test_the_next_fires_of_a_schedule(sh: Shell) -> None:
    sh.ok("schedule", "add", "weekly", "--cron", "15 6 * * MON", "--task", "double", "--payload", '{"x": 1}')
    lines = sh.ok("schedule", "next", "weekly", "-n", 2).lines
    assert [line.split()[0] for line in lines[1:]] == ["Mon", "Mon"]


def test_a_name_that_is_taken_is_told_with_what_to_do(sh: Shell) -> None:
    words = ("schedule", "add", "taken", "--cron", "@yearly", "--task", "double", "--payload", '{"x": 1}')
    sh.ok(*words)
    said = sh(*words)
    assert (said.code, "there is a schedule 'taken' already" in said.err) == (1, True), said.err
    assert said.err.endswith("holdfast schedule edit taken\n")


@pytest.mark.parametrize("kind", ["schedule", "template", "webhook"])
def test_what_nobody_knows_is_told_with_where_to_look(sh: Shell, kind: str) -> None:
    assert sh(kind, "show", "nobody").err == f"holdfast: there is no {kind} 'nobody'; see: holdfast {kind} ls\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("schedule", "add", "bad", "--cron", "0 25 * * *", "--task", "double"), "its hour does not fit"),
        (("schedule", "add", "bad", "--task", "double"), "say when, such as --cron"),
        (("schedule", "add", "bad", "--cron", NEVER), "say what its jobs are"),
        (("schedule", "add", "bad", "--cron", NEVER, "--task", "double", "--payload", "x"), "is not JSON"),
        (("schedule", "add", "bad", "--cron", NEVER, "--task", "double", "--", "true"), "not both"),
        (("schedule", "next"), "say which"),
        (("template", "add", "bad"), "say what its jobs run"),
    ],
)
def test_a_mistake_is_told_without_a_traceback(sh: Shell, words: tuple[str, ...], said: str) -> None:
    answer = sh(*words)
    assert (answer.code, answer.out) == (2, "")
    assert said in answer.err
    assert "Traceback" not in answer.err


def test_the_shell_completes_their_names(sh: Shell) -> None:
    sh.ok("template", "add", "completed", "--task", "double", "--payload", '{"x": 1}')
    sh.ok("schedule", "add", "complete", "--cron", NEVER, "--template", "completed")
    for words, found in (("schedule show comp", "complete"), ("template show comp", "completed")):
        asked = {"_HOLDFAST_COMPLETE": "bash_complete", "COMP_WORDS": f"holdfast {words}", "COMP_CWORD": "3"}
        assert sh(env=asked).out.split(",")[1].strip() == found
