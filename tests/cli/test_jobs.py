"""Jobs from the command line: enqueue, look, wait, act."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
import pytest

from tests.chaos.processes import until
from tests.cli.shell import Shell


@pytest.fixture
def parked(sh: Shell) -> int:
    """A job that waits for long."""
    return sh.number("enqueue", "double", '{"x": 1}', "--delay", "1h", "--tag", os.urandom(4).hex())


def state_of(sh: Shell, job: int) -> str:
    return str(sh.ok("show", job, "--json").json["job"]["state"]["name"])


def test_an_enqueued_job_is_named_by_its_number_and_runs(sh: Shell) -> None:
    job = sh.number("enqueue", "double", '{"x": 4}')
    assert sh.ok("wait", job).out == "DONE\n"
    assert sh.ok("show", job, "--json").json["job"]["state"]["result_summary"] == "8"


def test_waiting_prints_the_result(sh: Shell) -> None:
    assert sh.ok("enqueue", "double", '{"x": 21}', "--wait").out == "42\n"


def test_a_payload_may_come_from_standard_input(sh: Shell) -> None:
    assert sh.ok("enqueue", "double", "-", "--wait", stdin='{"x": 5}').out == "10\n"


def test_waiting_for_a_job_that_fails_is_exit_code_1(sh: Shell) -> None:
    said = sh("enqueue", "fail", '{"reason": "no luck"}', "--wait")
    assert (said.code, said.out) == (1, "")
    assert "is FAILED: no luck" in said.err
    job = sh.number("enqueue", "fail", '{"reason": "no luck"}')
    assert sh("wait", job).code == 1


def test_waiting_for_a_job_that_nobody_runs_says_so(sh: Shell) -> None:
    job = sh.number("enqueue", "nobody", "--anyway")
    terminal = sh.terminal("wait", job)
    terminal.wait_for(f"job {job} waits: no worker offers task 'nobody'")
    terminal.interrupt()
    assert terminal.end() == 130
    sh.ok("cancel", job)


@pytest.mark.parametrize("words", [["wait", "JOB"], ["logs", "--follow", "JOB"]])
def test_waiting_for_a_job_that_is_held_says_what_holds_it(sh: Shell, words: list[str]) -> None:
    job = sh.number("run", "--tokens", "cpu=1000", "--", "true")
    terminal = sh.terminal(*(str(job) if word == "JOB" else word for word in words))
    terminal.wait_for(f"job {job} waits: it needs 1000 cpu, more than any machine has")
    terminal.wait_for(f"holdfast why {job}")
    sh.ok("cancel", job)
    assert terminal.end() in (0, 1)


def test_waiting_has_a_limit(sh: Shell, parked: int) -> None:
    said = sh("wait", parked, "--timeout", "10ms")
    assert said.code == 1
    assert "has not ended within 0.01 s" in said.err
    assert said.err.count(f"job {parked} ") == 1


def test_why_nobody_runs_a_job_is_said_once(sh: Shell) -> None:
    job = sh.number("enqueue", "nobody", "--anyway")
    said = sh("wait", job, "--timeout", "0.5s")
    assert (said.code, said.err.count("no worker offers task 'nobody'")) == (1, 1), said.err
    sh.ok("cancel", job)


@pytest.mark.parametrize(
    ("words", "detail"),
    [
        (("--on-event", "never:*"), "waits for event never:*"),
        (
            ("--when-idle", "--when-charging", "--queue", "still"),
            "needs an idle machine and mains power, queue is paused",
        ),
    ],
)
def test_the_list_says_what_a_job_waits_for(sh: Shell, words: tuple[str, ...], detail: str) -> None:
    sh.ok("pause", "still")
    job = sh.number("enqueue", "double", '{"x": 1}', *words)
    assert sh.ok("ls", "-n", 1).lines[1].endswith(detail)
    sh.ok("cancel", job)
    sh.ok("resume", "still")


def test_the_options_of_a_job_are_stored(sh: Shell) -> None:
    first = sh.number("enqueue", "double", '{"x": 1}', "--delay", "1h")
    words = ["--queue", "other", "-p", 7, "--retries", 3, "--timeout", "90s", "--ttl", "2h", "--tag", "t"]
    words += ["--deadline", "2100-01-01T00:00+00:00", "--subject", "a{b}", "--at", "2099-01-01", "--after", first]
    job = sh.ok("enqueue", "double", '{"x": 1}', *words, "--json").json
    assert (job["queue"], job["priority"], job["policy"]["retries"], job["timeout_ms"]) == ("other", 7, 3, 90_000)
    assert (job["ttl_ms"], job["tag"], job["deadline"]) == (7_200_000, "t", 4_102_444_800_000)
    assert (job["subject"], job["state"]["name"]) == ("a{b}", "SCHEDULED")
    assert f"not ended: {first}" in sh.ok("why", job["number"]).out


def test_the_same_key_is_the_same_job(sh: Shell) -> None:
    words = ("enqueue", "double", '{"x": 1}', "--key", "once")
    assert sh.number(*words) == sh.number(*words)


def test_a_list_has_a_line_for_each_job_that_fits(sh: Shell) -> None:
    jobs = [sh.number("enqueue", "double", '{"x": 1}', "--queue", "lane", "--delay", "1h") for _ in range(3)]
    assert sh.ok("ls", "--queue", "lane", "-q").lines == [str(job) for job in reversed(jobs)]
    head, first, *_ = sh.ok("ls", "--queue", "lane", "--state", "scheduled").lines
    assert head.split() == ["JOB", "STATE", "WHAT", "QUEUE", "CREATED", "TRIES", "DETAIL"]
    assert first.split()[:4] == [str(jobs[-1]), "SCHEDULED", "double", "lane"]
    assert sh.ok("ls", "--queue", "lane", "--state", "done").lines == []


def test_pages_follow_each_other(sh: Shell) -> None:
    jobs = [sh.number("enqueue", "double", '{"x": 1}', "--queue", "pages", "--delay", "1h") for _ in range(3)]
    first = sh.ok("ls", "--queue", "pages", "-n", 2, "--json").json
    second = sh.ok("ls", "--queue", "pages", "-n", 2, "--cursor", first["cursor"], "--json").json
    assert [job["number"] for job in first["jobs"] + second["jobs"]] == jobs[::-1]


def test_a_state_that_does_not_exist_is_refused_with_those_that_do(sh: Shell) -> None:
    said = sh("ls", "--state", "lost")
    assert said.code == 2
    assert "SUPERSEDED" in said.err


def test_a_job_that_does_not_exist_is_told(sh: Shell) -> None:
    for command in ("show", "why", "logs", "wait", "cancel", "retry"):
        said = sh(command, 999_999)
        assert (said.code, said.err) == (1, "holdfast: there is no job '999999'; see: holdfast ls\n")


def test_show_tells_the_story_of_a_job_and_hides_what_looks_secret(sh: Shell) -> None:
    job = sh.number("enqueue", "nobody", '{"reason": "x", "api_key": "hunter2"}', "--anyway")
    said = sh.ok("show", job).out
    sh.ok("cancel", job)
    assert f"job      {job} (" in said
    assert "hunter2" not in said
    job = sh.number("enqueue", "fail", '{"reason": "too bad"}')
    sh("wait", job)
    assert "raise ValueError(reason)" in sh.ok("show", job).out


def test_a_task_gets_variables_and_a_process_of_its_own(sh: Shell) -> None:
    words = ("enqueue", "variable", '{"name": "COLOUR"}', "-e", "COLOUR", "--wait")
    assert sh.ok(*words, env={"COLOUR": "red"}).out == '"red None"\n'
    alone = sh.ok(*words, "--execution", "subprocess", env={"COLOUR": "red"})
    assert alone.out == '"red red"\n'
    assert "use one of" in sh("enqueue", "variable", "{}", "--execution", "thread").err


def test_why_names_each_gate_and_what_would_open_it(sh: Shell) -> None:
    sh.ok("pause", "stopped", "--reason", "repairs")
    job = sh.number("enqueue", "double", '{"x": 1}', "--queue", "stopped")
    said = sh.ok("why", job).out
    assert "✗ queue paused        queue 'stopped' is paused (repairs)" in said
    assert "opens with: a resume of the queue" in said
    assert "✓ dependencies        it waits for no other job" in said
    gates = {gate["gate"]: gate["gate_is"] for gate in sh.ok("why", job, "--json").json["gates"]}
    assert (gates["queue paused"], gates["due"]) == ("closed", "open")
    assert "to go on: holdfast resume stopped" in said


def test_why_tells_where_a_job_runs_and_how_it_ended(sh: Shell, tmp_path: Path) -> None:
    end = tmp_path / "end"
    job = sh.number("enqueue", "hold", msgspec.json.encode({"until": str(end)}).decode(), "--queue", "slow")
    until(lambda: "25%" in sh.ok("ls", "--queue", "slow").out, "it shows how far it is")
    assert "it is run 1, in worker" in sh.ok("why", job).out
    end.touch()
    sh.ok("wait", job)
    said = sh.ok("why", job).out
    assert "is DONE since" in said
    assert "it ran once" in said


def test_a_waiting_job_is_cancelled_and_one_that_ended_is_not(sh: Shell, parked: int) -> None:
    assert sh.ok("cancel", parked).out == "1 cancelled\n"
    assert sh.ok("cancel", parked, "--json").json == {"cancelled": 0, "requested": 0, "ended": 1}
    assert state_of(sh, parked) == "CANCELLED"


def test_a_running_job_is_asked_to_stop(sh: Shell, tmp_path: Path) -> None:
    job = sh.number("enqueue", "hold", msgspec.json.encode({"until": str(tmp_path / "never")}).decode(), "-q", "slow")
    until(lambda: state_of(sh, job) == "RUNNING", "it runs")
    assert sh.ok("cancel", job).out == "1 asked to stop\n"
    assert sh("wait", job).out == "CANCELLED  cancelled while running\n"


def test_nothing_is_cancelled_if_one_of_the_jobs_does_not_exist(sh: Shell, parked: int) -> None:
    assert sh("cancel", parked, 999_999).code == 1
    assert state_of(sh, parked) == "SCHEDULED"


def park(sh: Shell, tag: str, count: int) -> list[int]:
    return [sh.number("enqueue", "double", '{"x": 1}', "--delay", "1h", "--tag", tag) for _ in range(count)]


def test_many_are_not_cancelled_where_nobody_can_be_asked(sh: Shell) -> None:
    jobs = park(sh, "many", 3)
    said = sh("cancel", "--tag", "many")
    assert said.code == 2
    assert "this would cancel 3 jobs" in said.err
    assert [state_of(sh, job) for job in jobs] == ["SCHEDULED"] * 3
    assert sh.ok("cancel", "--tag", "many", "--yes").out == "3 cancelled\n"


def test_a_person_is_asked_with_the_number_of_jobs(sh: Shell) -> None:
    park(sh, "asked", 2)
    terminal = sh.terminal("cancel", "--tag", "asked")
    terminal.wait_for("Cancel 2 jobs? [y/N]:")
    terminal.type("n\n")
    assert terminal.end() == 1
    assert "nothing was changed" in terminal.text
    terminal = sh.terminal("cancel", "--tag", "asked")
    terminal.wait_for("[y/N]:")
    terminal.type("y\n")
    assert terminal.end() == 0
    assert "2 cancelled" in terminal.text


def test_a_job_runs_again_as_a_new_one(sh: Shell) -> None:
    job = sh.number("enqueue", "double", '{"x": 3}')
    sh.ok("wait", job)
    again = sh.number("retry", job)
    assert again > job
    sh.ok("wait", again)
    assert sh.ok("show", again, "--json").json["job"]["state"]["result_summary"] == "6"


def test_all_that_failed_run_again(sh: Shell) -> None:
    jobs = [sh.number("enqueue", "fail", '{"reason": "again"}', "--tag", "again") for _ in range(2)]
    sh("wait", *jobs)
    again = sh.ok("retry", "--tag", "again", "--yes", "--json").json
    assert [job["tag"] for job in again] == ["again", "again"]
    assert min(job["number"] for job in again) > max(jobs)


def test_a_waiting_job_moves_in_its_queue(sh: Shell) -> None:
    sh.ok("pause", "moving")
    first, second, third = (sh.number("enqueue", "double", '{"x": 1}', "--queue", "moving") for _ in range(3))
    sh.ok("move", third, "top")
    sh.ok("move", first, "after", second)
    jobs = sh.ok("ls", "--queue", "moving", "--json").json["jobs"]
    order = [job["number"] for job in sorted(jobs, key=lambda job: job["position"])]
    assert order == [third, second, first]
    sh.ok("move", first, "--priority", 9)
    assert sh.ok("show", first, "--json").json["job"]["priority"] == 9


def test_a_job_is_tied_to_a_machine_and_freed(sh: Shell) -> None:
    sh.ok("pause", "tied")
    node = sh.ok("status", "--json").json["daemon"]["node"]
    job = sh.number("run", "--queue", "tied", "--here", "--", "true")
    assert sh.ok("show", job, "--json").json["job"]["node"] == node
    assert f"machine  {node} alone" in sh.ok("show", job).out
    assert sh.ok("move", job, "--anywhere").out == f"job {job} may run on any machine\n"
    assert sh.ok("move", job, "--to", node).out == f"job {job} may run on {node}\n"
    assert sh("move", "--node", node).code == 2
    assert sh.ok("move", "--node", node, "--yes").out == "1 job moved\n"
    assert sh.ok("move", "--node", node).out == f"no waiting job is tied to {node}\n"
    assert sh.ok("show", job, "--json").json["job"]["node"] is None
    sh.ok("cancel", job)


@pytest.mark.parametrize("words", [("--here", "--anywhere"), ("--here", "--node", "x"), ("--node", "nowhere")])
def test_a_job_runs_on_one_machine_that_is_known_or_on_any(sh: Shell, words: tuple[str, ...]) -> None:
    assert sh("run", *words, "--", "true").code != 0


def test_on_a_file_a_command_is_not_tied_to_a_machine(sh: Shell) -> None:
    assert sh.ok("show", sh.number("run", "--", "true"), "--json").json["job"]["node"] is None


@pytest.mark.parametrize("words", [("nowhere",), ("before",), ("top", "1"), ()])
def test_a_move_to_nowhere_is_refused(sh: Shell, parked: int, words: tuple[str, ...]) -> None:
    assert sh("move", parked, *words).code == 2


def test_there_is_colour_on_a_terminal_only(sh: Shell) -> None:
    park(sh, "colour", 1)
    words = ("ls", "--tag", "colour")
    assert "\x1b[" not in sh.ok(*words).out
    terminal = sh.terminal(*words)
    assert terminal.end() == 0
    assert "\x1b[34mSCHEDULED\x1b[0m" in terminal.raw
    plain = sh.terminal(*words, env={"NO_COLOR": "1"})
    assert plain.end() == 0
    assert "\x1b[" not in plain.raw


def test_a_table_fits_the_terminal_and_is_whole_elsewhere(sh: Shell) -> None:
    word = "w" * 200
    job = sh.number("run", "--delay", "1h", "--tag", "wide", "--", "echo", word)
    assert word in sh.ok("ls", "--tag", "wide").out
    terminal = sh.terminal("ls", "--tag", "wide")
    assert terminal.end() == 0
    [line] = [line for line in terminal.text.splitlines() if line.startswith(str(job))]
    assert len(line) <= 80
    assert "…" in line
