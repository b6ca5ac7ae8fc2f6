"""Commands as jobs: their words, their output, their exit code."""

from __future__ import annotations

import os
import re
import signal
from collections import Counter
from pathlib import Path

import pytest

from holdfast.wire.calls import CALLS
from holdfast.wire.home import HOME
from tests.chaos.processes import KnownProcess, until
from tests.cli.shell import HOLDFAST, Shell
from tests.daemon.house import House, short_folder

OF_WORKERS = {call.name for call in CALLS if call.is_for_workers} | {"metrics"}


def test_a_command_is_queued_and_its_words_are_shown(sh: Shell) -> None:
    job = sh.number("run", "--", "echo", "two words", "--flag")
    sh.ok("wait", job)
    assert "echo 'two words' --flag" in sh.ok("ls", "-n", 1).out
    assert sh.ok("logs", job).out == "two words --flag\n"


def test_a_command_is_queued_with_one_request(sh: Shell, house: House) -> None:
    before = calls_of_people(house)
    job = sh.number("run", "--delay", "1h", "--", "true")
    assert calls_of_people(house) - before == Counter(enqueue=1)
    sh.ok("cancel", job)


def calls_of_people(house: House) -> Counter[str]:
    """How often each call was answered so far, but for what workers and this very question call."""
    lines = house.ask("GET", "/metrics")[1].decode().splitlines()
    found = (re.fullmatch(r'holdfast_api_call_ms_count\{call="(\w+)"\} ([\d.]+)', line) for line in lines)
    counts = {match[1]: int(float(match[2])) for match in found if match}
    return Counter({name: count for name, count in counts.items() if name not in OF_WORKERS})


def test_options_behind_the_command_are_its_own(sh: Shell) -> None:
    assert sh.ok("run", "--wait", "printf", "%s", "--json").out == "--json"


def test_waiting_streams_the_output_and_ends_with_the_exit_code(sh: Shell) -> None:
    said = sh("run", "--wait", "--", "sh", "-c", "echo out; echo err >&2; exit 7")
    assert (said.code, sorted(said.lines)) == (7, ["err", "out"])
    assert "is FAILED" in said.err
    assert sh.ok("run", "--wait", "--", "true").out == ""


def test_death_by_a_signal_is_128_and_its_number(sh: Shell) -> None:
    said = sh("run", "--wait", "--retries", 0, "--", "sh", "-c", "kill -USR1 $$")
    assert said.code == 128 + signal.SIGUSR1


def test_a_command_that_does_not_exist_is_exit_code_1_or_that_of_a_shell(sh: Shell) -> None:
    said = sh("run", "--wait", "--", "no-such-program-here")
    assert said.code in (1, 127)
    assert "no-such-program-here" in said.err


def test_a_command_starts_here_with_its_own_variables(sh: Shell, tmp_path: Path) -> None:
    script = 'echo "$PWD $GIVEN $TAKEN"'
    words = ("run", "--wait", "-e", "GIVEN=a=b", "-e", "TAKEN", "--cwd", tmp_path, "--", "sh", "-c", script)
    assert sh.ok(*words, env={"TAKEN": "from here"}).out == f"{tmp_path} a=b from here\n"


def test_a_command_that_could_never_run_is_refused(sh: Shell) -> None:
    before = sh.ok("ls", "-q").lines
    with short_folder() as folder:  # so that no message cuts its name
        (folder / "file").touch()
        for words, says in (
            (("--timeout", "0"), "--timeout '0' is not valid: use 1 ms to 100 years"),
            (("--cwd", folder / "no"), f"--cwd '{folder}/no' does not exist; make it first"),
            (("--cwd", folder / "file"), f"--cwd '{folder}/file' is not a folder"),
        ):
            said = sh("run", *words, "--", "true")
            assert (said.code, says in said.err) == (2, True), said
    assert sh.ok("ls", "-q").lines == before


def test_a_command_may_start_in_a_folder_that_is_still_to_be_made_or_is_elsewhere(sh: Shell, tmp_path: Path) -> None:
    folder = tmp_path / "made"
    first = sh.number("run", "--delay", "1h", "--cwd", folder, "--", "true")
    second = sh.number("run", "--after", first, "--cwd", folder, "--", "true")
    anywhere = sh.number("run", "--anywhere", "--queue", "nobody", "--cwd", folder, "--", "true")
    sh.ok("cancel", second, first, anywhere)


def test_a_moment_that_has_passed_is_told(sh: Shell) -> None:
    said = sh.ok("run", "--wait", "--at", "2020-01-31T18:30", "--", "echo", "late")
    assert said.out == "late\n"
    assert re.fullmatch(r"holdfast: --at 2020-01-31T18:30 was \d+d ago; it runs as soon as it can\n", said.err)


def test_the_output_of_all_tries_is_streamed(sh: Shell, tmp_path: Path) -> None:
    script = f"echo try; test -e {tmp_path}/mark || {{ touch {tmp_path}/mark; exit 1; }}"
    assert sh.ok("run", "--wait", "--retries", 1, "--", "sh", "-c", script).lines == ["try", "try"]


def test_a_group_runs_its_commands_in_order(sh: Shell, tmp_path: Path) -> None:
    sh.ok("group", "create", "steps", "--sequential")
    jobs = [sh.number("run", "--group", "steps", "--", "sh", "-c", f"echo {n} >> {tmp_path}/said") for n in range(3)]
    sh.ok("wait", *jobs)
    assert (tmp_path / "said").read_text() == "0\n1\n2\n"


def test_ctrl_c_lets_the_job_go_on_and_says_so(sh: Shell, tmp_path: Path) -> None:
    script = f"echo begun; while [ ! -e {tmp_path}/end ]; do sleep 0.02; done; echo ended"
    terminal = sh.terminal("run", "--wait", "--", "sh", "-c", script)
    terminal.wait_for("begun")
    terminal.interrupt()
    assert terminal.end() == 130
    [job] = sh.ok("ls", "-q", "--state", "running", "--task", "command").lines
    assert f"job {job} goes on; its output: holdfast logs -f {job}" in terminal.text
    (tmp_path / "end").touch()
    assert sh.ok("wait", job).out == "DONE\n"
    assert sh.ok("logs", job).lines == ["begun", "ended"]


@pytest.mark.parametrize("how", ["--json"])
def test_a_waited_for_command_can_be_read_by_a_program(sh: Shell, how: str) -> None:
    said = sh("run", "--wait", how, "--", "sh", "-c", "exit 4")
    assert (said.code, said.json["state"]["name"]) == (4, "FAILED")


def test_logs_can_be_cut_to_the_last_lines(sh: Shell) -> None:
    job = sh.number("run", "--", "seq", 100)
    sh.ok("wait", job)
    assert sh.ok("logs", job, "--tail", 2).lines == ["99", "100"]
    assert sh.ok("logs", job, "--tail", 0).out == ""
    assert len(sh.ok("logs", job).lines) == 100


def test_logs_of_each_run_can_be_read(sh: Shell, tmp_path: Path) -> None:
    script = f"test -e {tmp_path}/mark && echo second || {{ touch {tmp_path}/mark; echo first; exit 1; }}"
    job = sh.number("run", "--retries", 1, "--", "sh", "-c", script)
    sh.ok("wait", job)
    assert sh.ok("logs", job).out == "second\n"
    assert sh.ok("logs", job, "--run", 1).out == "first\n"
    said = sh("logs", job, "--run", 3)
    assert (said.code, said.err) == (2, f"holdfast: job {job} has 2 runs; there is no run 3\n")


def test_following_ends_with_the_job(sh: Shell, tmp_path: Path) -> None:
    script = f"echo begun; while [ ! -e {tmp_path}/end ]; do sleep 0.02; done; echo ended; exit 3"
    job = sh.number("run", "--", "sh", "-c", script)
    following = sh.start("logs", "-f", job)
    assert following.stdout is not None
    assert following.stdout.readline() == "begun\n"
    (tmp_path / "end").touch()
    out, err = following.communicate(timeout=60)
    assert (out, err, following.returncode) == ("ended\n", "", 0)


def test_following_a_job_that_waits_begins_when_it_runs(sh: Shell) -> None:
    sh.ok("pause", "later")
    job = sh.number("run", "-q", "later", "--", "echo", "now")
    following = sh.start("logs", "-f", job)
    sh.ok("resume", "later")
    out, _ = following.communicate(timeout=60)
    assert (out, following.returncode) == ("now\n", 0)


def test_big_logs_come_whole(sh: Shell) -> None:
    job = sh.number("run", "--", "seq", 400_000)
    sh.ok("wait", job)
    assert sh.ok("logs", job).out == "".join(f"{n}\n" for n in range(1, 400_001))


def test_logs_of_a_job_that_never_ran_say_so(sh: Shell) -> None:
    job = sh.number("run", "--delay", "1h", "--", "true")
    said = sh.ok("logs", job)
    assert (said.out, said.err) == ("", f"job {job} has not run yet; to wait for it: holdfast logs -f {job}\n")


def test_pieces_of_a_log_are_json_lines(sh: Shell) -> None:
    job = sh.number("run", "--", "echo", "hello")
    sh.ok("wait", job)
    piece = sh.ok("logs", job, "--json").json
    assert (piece["text"], piece["eof"], piece["attempt"], piece["offset"]) == ("hello\n", True, 1, 0)


def test_a_command_that_is_cancelled_ends(sh: Shell) -> None:
    job = sh.number("run", "--", "sleep", 1000)
    until(lambda: sh.ok("show", job, "--json").json["job"]["state"]["name"] == "RUNNING", "it runs")
    [run] = sh.ok("show", job, "--json").json["runs"]
    until(lambda: sh.ok("show", job, "--json").json["runs"][0]["pid"], "its process is known")
    process = KnownProcess.of(sh.ok("show", job, "--json").json["runs"][0]["pid"])
    sh.ok("cancel", job)
    assert sh("wait", job).code == 1
    until(lambda: not process.is_alive, f"the process of run {run['id']} is gone")


def test_a_holdfast_in_a_job_speaks_to_the_daemon_that_runs_it(sh: Shell) -> None:
    said = sh.ok("run", "--wait", "--", HOLDFAST, "enqueue", "double", '{"x": 4}', "--wait")
    assert said.out == "8\n"
    other = f"{HOME}={sh.home.folder}/elsewhere"
    assert sh("run", "--wait", "--retries", 0, "--env", other, "--", HOLDFAST, "status").code == 3


def test_only_the_slots_for_commands_could_take_a_command(sh: Shell) -> None:
    job = sh.number("run", "--delay", "1h", "--", "true")
    assert sh.ok("why", job, "--json").json["slots"] == os.cpu_count()
