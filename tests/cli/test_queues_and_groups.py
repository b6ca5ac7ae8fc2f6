"""Queues, groups and reservations from the command line."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.chaos.processes import KnownProcess, kill, until
from tests.cli.shell import Shell


def queue_of(sh: Shell, name: str) -> dict[str, object]:
    [found] = sh.ok("queue", name, "--json").json
    return dict(found)


def test_a_queue_is_limited_and_freed(sh: Shell) -> None:
    assert queue_of_limit(sh, "--limit", 2) == 2
    assert queue_of_limit(sh) == 2
    sh.number("enqueue", "double", '{"x": 1}', "--queue", "narrow", "--delay", "1h")
    assert queue_of_limit(sh, "--no-limit") is None


def queue_of_limit(sh: Shell, *words: object) -> object:
    [found] = sh.ok("queue", "narrow", *words, "--json").json
    return found["concurrency"]


def test_a_queue_nobody_knows_is_told_with_those_that_are_known(sh: Shell) -> None:
    sh.number("enqueue", "double", '{"x": 1}', "--queue", "known", "--delay", "1h")
    said = sh("queue", "unknown")
    assert said.code == 2
    assert "known" in said.err


def test_a_paused_queue_shows_why(sh: Shell) -> None:
    sh.ok("pause", "resting", "sleeping", "--reason", "night")
    assert queue_of(sh, "sleeping")["pause_reason"] == "night"
    [line] = [line for line in sh.ok("queue").lines if line.startswith("resting")]
    assert line.endswith("ago: night")
    assert " paused " in line
    sh.ok("resume", "resting", "sleeping")
    assert sh("queue", "resting").code == 2


def test_a_group_is_found_by_its_name(sh: Shell) -> None:
    group = sh.ok("group", "create", "release", "--on-failure", "continue").out.strip()
    job = sh.number("enqueue", "double", '{"x": 1}', "--group", "release")
    sh.ok("wait", job)
    view = sh.ok("group", "show", "release", "--json").json
    assert (view["group"]["id"], view["status"], list(view["members"].values())) == (group, "COMPLETED", ["DONE"])
    assert sh.ok("group", "show", group).lines[0].split() == ["group", group]
    assert any("release" in line and "1 of 1" in line for line in sh.ok("group", "ls").lines)
    assert sh.ok("ls", "--group", "release", "-q").lines == [str(job)]


def test_a_group_is_cancelled_as_a_whole(sh: Shell) -> None:
    sh.ok("group", "create", "doomed")
    assert "on failure" not in sh.ok("group", "show", "doomed").out
    for _ in range(2):
        sh.number("enqueue", "double", '{"x": 1}', "--group", "doomed", "--delay", "1h")
    assert "this would cancel 2 jobs" in sh("group", "cancel", "doomed").err
    assert sh.ok("group", "cancel", "doomed", "--yes").out == "2 cancelled, 0 asked to stop\n"


def test_a_group_is_waited_for_and_made_anew(sh: Shell, tmp_path: Path) -> None:
    sh.ok("group", "create", "anew", "--sequential")
    for path in (tmp_path / "one", tmp_path / "two"):
        sh.ok("enqueue", "second_time", f'{{"path": "{path}"}}', "--group", "anew", "--retries", 0)
    waited = sh("group", "wait", "anew")
    assert (waited.code, waited.out.split()[0]) == (1, "CANCELLED")
    assert "100% 1 cancelled, 1 failed" in sh.ok("group", "show", "anew").out
    assert "this would retry 2 jobs" in sh("group", "retry", "anew").err
    assert sh.ok("group", "retry", "anew", "--yes").out == "2 made anew\n"
    assert sh("group", "wait", "anew").code == 1
    sh.ok("group", "retry", "anew", "--yes")
    view = sh.ok("group", "wait", "anew", "--json").json
    assert (view["status"], view["counts"], view["progress"]) == ("COMPLETED", {"DONE": 2}, 1)
    assert sh.ok("group", "retry", "anew").out == "nothing to retry\n"


def test_the_rest_of_a_group_comes_back_behind_the_member_that_failed(sh: Shell, tmp_path: Path) -> None:
    sh.ok("group", "create", "rest", "--sequential")
    path = tmp_path / "first"
    failed = sh.number("enqueue", "second_time", f'{{"path": "{path}"}}', "--group", "rest", "--retries", 0)
    sh.number("enqueue", "double", '{"x": 1}', "--group", "rest")
    assert sh("group", "wait", "rest").code == 1
    again = sh.number("retry", failed)
    assert sh.ok("group", "retry", "rest", "--rest").out == "1 made anew\n"
    assert sh.ok("group", "wait", "rest", "--json").json["status"] == "COMPLETED"
    assert any(line.split() == ["retry", "of", "job", str(failed)] for line in sh.ok("show", again).lines)


def test_both_jobs_of_a_retry_name_each_other(sh: Shell) -> None:
    old = sh.number("enqueue", "double", '{"x": 1}')
    sh.ok("wait", old)
    new = sh.number("retry", old)
    sh.ok("wait", new)
    assert any(line.split() == ["retried", "as", "job", str(new), "(DONE)"] for line in sh.ok("show", old).lines)
    assert any(line.split() == ["retry", "of", "job", str(old)] for line in sh.ok("show", new).lines)
    assert f"it was retried as job {new} (DONE)" in sh.ok("why", old).out
    assert f"it is a retry of job {old}" in sh.ok("why", new).out


def test_a_group_nobody_knows_is_told(sh: Shell) -> None:
    said = sh("group", "show", "nobody")
    assert (said.code, said.err.startswith("holdfast: there is no group 'nobody'")) == (1, True)


def test_directly_run_is_a_command_with_its_exit_code(sh: Shell) -> None:
    said = sh("direct", "--", "sh", "-c", "echo here; exit 6")
    assert (said.code, said.out) == (6, "here\n")
    assert sh("direct", "--", "sh", "-c", "kill -TERM $$").code == 128 + signal.SIGTERM
    assert sh("direct", "--", "no-such-program-here").code == 127
    assert sh.ok("status", "--json").json["reservations"] == []


def test_nothing_starts_while_a_command_runs_directly(sh: Shell, tmp_path: Path) -> None:
    script = f"touch {tmp_path}/begun; while [ ! -e {tmp_path}/end ]; do sleep 0.02; done"
    direct = sh.start("direct", "--", "sh", "-c", script)
    until((tmp_path / "begun").exists, "it runs")
    job = sh.number("enqueue", "double", '{"x": 1}')
    assert "✗ reservation         everything is reserved by holdfast direct -- sh" in sh.ok("why", job).out
    assert "everything by holdfast direct -- sh" in sh.ok("status").out
    (tmp_path / "end").touch()
    assert direct.wait(60) == 0
    sh.ok("wait", job)


def test_a_queue_is_kept_still_alone(sh: Shell, tmp_path: Path) -> None:
    script = f"touch {tmp_path}/begun; while [ ! -e {tmp_path}/end ]; do sleep 0.02; done"
    direct = sh.start("direct", "--queue", "gpu", "--", "sh", "-c", script)
    until((tmp_path / "begun").exists, "it runs")
    assert sh.ok("enqueue", "double", '{"x": 2}', "--wait").out == "4\n"
    said = sh("direct", "--queue", "gpu", "--wait", "0", "--", "true")
    assert said.code == 1
    assert said.err == "holdfast: queue 'gpu' is reserved by holdfast direct -- sh; wait until it is released\n"
    other = sh.start("direct", "--queue", "gpu", "--", "true")
    assert other.stderr is not None
    assert other.stderr.readline() == "holdfast: waiting until holdfast direct -- sh gives queue 'gpu' back\n"
    (tmp_path / "end").touch()
    assert (direct.wait(60), other.wait(60)) == (0, 0)
    other.communicate()


def noted(folder: Path) -> list[KnownProcess]:
    """The processes whose pids a command has written down, to look at them while they live."""
    path = folder / "pid"
    text = path.read_text() if path.exists() else ""
    return [KnownProcess.of(int(pid)) for pid in text.split()] if text.endswith("\n") else []


@pytest.mark.parametrize("way", ["sleep 1000 & wait", "trap '' TERM; while :; do sleep 0.1; done", "setsid sleep 1000"])
def test_a_command_does_not_outlive_its_reservation(sh: Shell, tmp_path: Path, way: str) -> None:
    script = f"echo $$ > {tmp_path}/pid; ({way})"
    direct = sh.start("direct", "--queue", "short", "--ttl", "2s", "--", "sh", "-c", script)
    until(lambda: noted(tmp_path) or direct.poll() is not None, "it runs")
    command = noted(tmp_path)
    out, err = direct.communicate(timeout=60)
    # The shell may have time to tell of the end of its children.
    assert (out, err.count("holdfast: the time of the reservation is over; sh is ended\n")) == ("", 1), err
    assert direct.returncode in (128 + signal.SIGTERM, 128 + signal.SIGKILL)
    assert not any(process.is_alive for process in command)  # Its time may be over before it has begun.


def test_a_guard_that_is_killed_takes_its_command_along(sh: Shell, tmp_path: Path) -> None:
    direct = sh.start("direct", "-q", "guarded", "--", "sh", "-c", f"echo $$ $PPID > {tmp_path}/pid; exec sleep 1000")
    command, guard = until(lambda: noted(tmp_path), "it runs")
    kill(guard)
    assert direct.wait(60) == 128 + signal.SIGKILL
    until(lambda: not command.is_alive, "the command is gone")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_for_the_command_line_reaches_its_command(sh: Shell, number: signal.Signals, tmp_path: Path) -> None:
    name = number.name.removeprefix("SIG")
    script = f"trap 'exit 7' {name}; touch {tmp_path}/ready; while :; do sleep 0.02; done"
    direct = sh.start("direct", "-q", "told", "--", "sh", "-c", script)
    until((tmp_path / "ready").exists, "it runs")
    direct.send_signal(number)
    assert direct.wait(60) == 7


def test_what_runs_is_waited_for_only_as_long_as_was_said(sh: Shell, tmp_path: Path) -> None:
    job = sh.number("run", "-q", "busy", "--", "sh", "-c", f"while [ ! -e {tmp_path}/end ]; do sleep 0.02; done")
    until(lambda: sh.ok("show", job, "--json").json["job"]["state"]["name"] == "RUNNING", "it runs")
    said = sh("direct", "-q", "busy", "--wait", "10ms", "--", "true")
    assert said.code == 1
    assert "what runs in 'busy' has not ended in time" in said.err
    assert sh.ok("status", "--json").json["reservations"] == []
    waiting = sh.start("direct", "-q", "busy", "--", "echo", "mine")
    until(lambda: sh.ok("status", "--json").json["reservations"], "it waits")
    (tmp_path / "end").touch()
    assert waiting.communicate(timeout=60)[0] == "mine\n"
    sh.ok("wait", job)


def test_a_reservation_ends_with_a_command_line_that_is_killed(sh: Shell, tmp_path: Path) -> None:
    direct = sh.start("direct", "-q", "orphaned", "--", "sh", "-c", f"echo $$ > {tmp_path}/pid; exec sleep 1000")
    [command] = until(lambda: noted(tmp_path), "it runs")
    direct.kill()
    direct.wait()
    until(lambda: not command.is_alive, "the command has ended")
    until(lambda: sh.ok("status", "--json").json["reservations"] == [], "the reservation has ended")


@pytest.mark.parametrize(("scope", "code"), [((), 2), (("-q", "default"), 2), (("-q", "elsewhere"), 0)])
def test_a_run_cannot_reserve_what_it_runs_in(sh: Shell, scope: tuple[str, ...], code: int) -> None:
    from tests.cli.shell import HOLDFAST

    home = str(sh.home.folder)
    said = sh("run", "--wait", "--", HOLDFAST, "direct", "--home", home, *scope, "--", "echo", "mine")
    assert said.code == code
    assert ("which the reservation would wait for" in said.out) == bool(code)


def test_ctrl_c_is_for_the_command_that_runs_directly(sh: Shell) -> None:
    script = "trap 'echo caught; exit 9' INT; echo ready; while :; do sleep 0.05; done"
    terminal = sh.terminal("direct", "-q", "mine", "--", "sh", "-c", script)
    terminal.wait_for("ready")
    terminal.interrupt()
    assert terminal.end() == 9
    assert "caught" in terminal.text
    assert sh.ok("status", "--json").json["reservations"] == []
