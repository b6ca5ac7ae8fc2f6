"""The daemon from the command line: up, down, status, doctor, top, bench."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.chaos.processes import PATIENCE_S, until
from tests.cli.shell import APP, Said, Shell
from tests.daemon.house import House

# The command line on a machine that may be slow: it waits for the first workers for as long as it takes.
PATIENT = (
    "from holdfast.cli import app; from holdfast.cli.daemon import service; service.FIRST_WORKERS_S = 60; app.main()"
)


def test_a_daemon_in_the_background_is_ready_when_up_returns(empty: Shell) -> None:
    begun = empty.installed("up", "--detach", "--app", APP, "--json").json
    assert begun["home"] == str(empty.home.folder)
    assert empty.ok("enqueue", "double", '{"x": 1}', "--wait").out == "2\n"
    said = empty("up", "-d")
    assert said.code == 1
    assert f"a daemon with pid {begun['pid']} lives in" in said.err
    assert empty.installed("down") == Said(0, "holdfast is down\n", "")
    assert not empty.home.socket.exists()
    assert empty("down").code == 3
    log = empty.home.log.read_text()
    assert '"daemon_ready"' in log
    assert '"daemon_stopped"' in log


SLOW = """
import pathlib, time
from holdfast import Holdfast
hf = Holdfast()
@hf.task
def late() -> None: ...
pathlib.Path({reached!r}).touch()
while not pathlib.Path({go!r}).exists():
    time.sleep(0.01)
"""


def test_up_returns_when_the_first_workers_have_declared_their_tasks(empty: Shell, tmp_path: Path) -> None:
    app, reached, go = tmp_path / "slow.py", tmp_path / "reached", tmp_path / "go"
    app.write_text(SLOW.format(reached=str(reached), go=str(go)))
    starting = empty.start("up", "--detach", "--app", app)
    until(reached.exists, "the worker loads its app")
    until(lambda: empty("status").code == 0, "the daemon answers")
    assert starting.poll() is None
    go.touch()
    _, said = starting.communicate(timeout=PATIENCE_S)
    assert (starting.returncode, said) == (0, "")
    assert [task["name"] for task in empty.ok("tasks", "--json").json] == ["late"]
    empty.ok("down")


def test_up_does_not_wait_for_ever_for_a_worker_that_does_not_begin(empty: Shell, tmp_path: Path) -> None:
    app, go = tmp_path / "slow.py", tmp_path / "go"
    app.write_text(SLOW.format(reached=str(tmp_path / "reached"), go=str(go)))
    begun = subprocess.run(
        [sys.executable, "-c", PATIENT.replace("= 60", "= 0"), "up", "-d", "--app", str(app)],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        env=empty.environment(),
        check=True,
    )
    assert begun.stdout.startswith("holdfast is up")
    assert "but worker app-1 has not begun after 0 s; see " in begun.stderr
    go.touch()
    empty.ok("down")


def test_a_daemon_that_cannot_start_says_why(empty: Shell) -> None:
    empty.home.create()
    empty.home.database.write_text("this is no database " * 100)
    said = empty("up", "-d")
    assert said.code == 1
    assert "the daemon did not start: " in said.err
    assert "meta.db" in said.err


def test_settings_that_are_wrong_are_told_before_anything_starts(empty: Shell) -> None:
    empty.home.create()
    empty.home.settings.write_text("[daemon]\nworker = 3\n")
    said = empty("up", "-d")
    assert said.code == 2
    assert "worker is not known: did you mean workers?" in said.err


def test_a_switch_for_pressure_that_is_neither_on_nor_off_is_refused(empty: Shell) -> None:
    said = empty("up", "-d", env={"HOLDFAST_PRESSURE": "0"})
    assert said.code != 0
    assert "HOLDFAST_PRESSURE='0' is not valid: use off, or on" in said.err


def test_the_settings_can_be_printed_and_used_again(empty: Shell, tmp_path: Path) -> None:
    said = empty.ok("up", "--print-config", "--workers", 3, "--port", 0).out
    assert "\nworkers = 3\n" in said
    assert '\n# durability = "full"\n' in said
    (tmp_path / "mine.toml").write_text(said)
    printed = empty.ok("up", "--print-config", "--config", tmp_path / "mine.toml", "--json").json
    assert (printed["daemon"]["workers"], printed["api"]["port"]) == (3, 0)


def test_a_daemon_in_a_terminal_greets_and_stops_with_ctrl_c(empty: Shell) -> None:
    terminal = empty.terminal("up")
    terminal.wait_for("listening on")
    terminal.interrupt()
    assert terminal.end() == 0
    first, second, third, *_ = terminal.text.splitlines()
    assert first.endswith(f"home {empty.home.folder}")
    assert second.split() == ["socket", str(empty.home.socket)]
    assert "holdfast run --wait -- echo hello" in third


def test_down_now_waits_for_no_job(empty: Shell, tmp_path: Path) -> None:
    empty.home.create()
    empty.home.settings.write_text('[daemon]\nshort = "1h"\ngrace = "1h"\n')
    empty.ok("up", "-d")
    job = empty.number("run", "--", "sh", "-c", f"touch {tmp_path}/begun; sleep 1000")
    until((tmp_path / "begun").exists, "it runs")
    assert empty.ok("down", "--now").out == "holdfast is down\n"
    empty.ok("up", "-d")
    assert empty.ok("cancel", job).out
    empty.ok("down", "--now")


def test_status_tells_of_daemon_workers_and_queues(sh: Shell) -> None:
    sh.number("enqueue", "double", '{"x": 1}', "--queue", "shown", "--delay", "1h")
    lines = {line.split()[0]: line.split()[1:] for line in sh.ok("status").lines if line}
    assert lines["home"] == [str(sh.home.folder)]
    assert lines["pressure"][0] == "off:"
    assert lines["store"][0] == str(sh.home.database)
    assert "working" in lines["app-1"]
    assert lines["shown"] == ["normal", "0", "-", "-", "0", "1", "-", "0", "0"]
    found = sh.ok("status", "--json").json
    assert [worker["name"] for worker in found["daemon"]["workers"]] == ["system", "app-1"]
    assert found["stats"]["slots"] == sum(worker["slots"] for worker in found["workers"])


def test_a_worker_that_cannot_live_is_shown_and_makes_the_doctor_complain(empty: Shell, tmp_path: Path) -> None:
    app = tmp_path / "broken.py"
    app.write_text("raise RuntimeError('no')\n")
    empty.home.create()
    empty.home.settings.write_text("[observe]\ncanary_every = 0\n[daemon]\n")
    daemon = empty.start("up", "--app", app)
    until(lambda: "crash loop: ended with code" in empty("status").out, "the crash loop is noticed")
    said = empty("doctor")
    assert said.code == 1
    [line] = [line for line in said.lines if line.startswith("✗")]
    assert "app-1 fails at each start" in line
    empty.ok("down")
    _, printed = daemon.communicate(timeout=PATIENCE_S)
    assert "cannot be loaded: RuntimeError: no" in printed


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (None, "there is no such file"),
        ("\nimport no_such_module", "broken.py, line 2)"),
        ("import holdfast\nhf = holdfast.Holdfast()\n@hf.task(retries=3)\ndef f(): ...", "broken.py, line 3)"),
        ("raise RuntimeError('no')", "cannot be loaded: RuntimeError: no"),
        ("raise SystemExit(3)", "cannot be loaded: SystemExit: 3"),
        ("import holdfast\nhf = holdfast.Holdfast()\n@hf.cron('99 * * * *')\ndef tick(): ...", "99 * * * *"),
    ],
)
def test_up_ends_with_an_error_where_code_cannot_be_loaded_and_the_daemon_goes_on(
    empty: Shell, tmp_path: Path, code: str | None, reason: str
) -> None:
    app = tmp_path / "broken.py"
    if code is not None:
        app.write_text(code)
    begun = subprocess.run(
        [sys.executable, "-c", PATIENT, "up", "-d", "--app", str(app)],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        env=empty.environment(),
        check=False,
    )
    assert begun.returncode == 1
    assert begun.stdout.startswith("holdfast is up")
    assert "app-1 ended with code 2: " in begun.stderr
    assert reason in begun.stderr
    assert reason in empty.home.log.with_name("worker-app-1.log").read_text()
    assert stat.S_IMODE(empty.home.log.with_suffix(".err").stat().st_mode) == 0o600
    app.write_text("import holdfast\nhf = holdfast.Holdfast()\n@hf.task\ndef mended(): ...")
    until(lambda: "mended" in empty.ok("tasks").out, "the code is tried again")
    empty.ok("down")


@pytest.mark.parametrize("name", ["./app", "app/", "package.", "a b:hf", ":hf"])
def test_a_name_of_an_app_that_can_be_none_is_refused(empty: Shell, name: str) -> None:
    said = empty("worker", "--app", name)
    assert (said.code, f"app {name!r} is not valid: give package.module or path/to/file.py" in said.err) == (2, True)


def test_why_a_worker_does_not_live_reaches_people(empty: Shell, tmp_path: Path) -> None:
    daemon = empty.start("up", "--app", tmp_path / "missing.py")
    until(lambda: "there is no such file" in empty("status").out, "the status tells")
    until(lambda: "there is no such file" in empty("doctor").out, "the doctor tells")
    empty.ok("down")
    daemon.communicate(timeout=PATIENCE_S)


def test_the_doctor_finds_nothing_where_all_is_well(sh: Shell) -> None:
    said = sh.ok("doctor")
    assert [line for line in said.lines if not line.startswith("✓")] == []
    report = sh.ok("doctor", "--json").json
    assert report["is_well"]
    assert {"program", "home", "token", "socket", "disk", "daemon", "worker", "clock", "store", "invariants"} == {
        finding["check"] for finding in report["findings"]
    }


def test_the_doctor_goes_by_the_limits_of_the_disk_that_the_daemon_goes_by(empty: Shell) -> None:
    empty.home.folder.mkdir(mode=0o700, exist_ok=True)
    for setting, sign in (('disk_bytes = "1024TiB"', "✗"), ("disk = 0.9999", "✗"), ("disk = 0\ndisk_bytes = 0", "✓")):
        empty.home.settings.write_text(f"[pressure]\n{setting}\n")
        [line] = [line for line in empty("doctor").lines if line[2:].startswith("disk")]
        assert line[0] == sign, line
        assert (f"is the least ({setting.partition(' ')[0]})" in line) == (sign == "✗"), line


def test_the_doctor_complains_of_a_home_that_others_can_read(empty: Shell) -> None:
    empty.home.create()
    os.chmod(empty.home.folder, 0o755)
    said = empty("doctor")
    assert said.code == 1
    assert f"✗ home         others can reach {empty.home.folder}; close it: chmod 700" in said.out


def test_the_doctor_names_files_of_before_that_others_may_read(empty: Shell, tmp_path: Path) -> None:
    empty.home.create()
    for path in (empty.home.database, empty.home.printed):
        path.touch()
        path.chmod(0o644)
    files = f"{empty.home.log.with_suffix('.err')} {empty.home.database}"
    [line] = [line for line in empty("doctor").lines if line[2:].startswith("files")]
    assert line.startswith(
        "! files        only the closed home folder keeps others from reading logs/daemon.err, meta.db"
    )
    assert line.endswith(f"; close them: chmod 600 {files}")
    subprocess.run(["chmod", "600", *files.split()], check=True)
    assert not any(line[2:].startswith("files") for line in empty("doctor").lines)
    (tmp_path / "work.db").touch(0o644)
    empty.home.settings.write_text(f'[daemon]\nstore = "{tmp_path}/work.db"\n')
    assert (
        f"✗ files        others can read {tmp_path}/work.db; close them: chmod 600 {tmp_path}/work.db"
        in empty("doctor").out
    )


@pytest.mark.parametrize("detach", [(), ("--detach",)])
def test_up_does_not_start_what_others_could_change(empty: Shell, tmp_path: Path, detach: tuple[str, ...]) -> None:
    app = tmp_path / "tasks.py"
    app.write_text("import holdfast\nhf = holdfast.Holdfast()\n")
    app.chmod(0o666)
    said = empty("up", "--app", app, *detach)
    assert (said.code, said.err) == (
        1,
        f"holdfast: {app} can be written by everybody, so others could decide what runs here; first: "
        f"chmod go-w {app}\n",
    )
    assert not empty.home.folder.exists()
    empty.home.create()
    empty.home.settings.write_text("")
    empty.home.settings.chmod(0o666)
    assert f"chmod go-w {empty.home.settings}\n" in empty("up", *detach).err
    assert f"✗ exposed      {empty.home.settings} can be written by everybody" in empty("doctor").out
    empty.home.settings.chmod(0o644)
    empty.home.folder.chmod(0o777)
    assert f"chmod go-w {empty.home.folder}\n" in empty("up", *detach).err
    assert not empty.home.database.exists()


def test_a_file_for_what_is_printed_keeps_the_mode_that_it_has(empty: Shell) -> None:
    empty.home.create()
    said = empty.home.log.with_suffix(".err")
    said.touch()
    said.chmod(0o640)
    empty.ok("up", "-d")
    empty.ok("down")
    assert stat.S_IMODE(said.stat().st_mode) == 0o640


def test_sessions_are_the_processes_that_claim(sh: Shell) -> None:
    found = sh.ok("sessions", "--json").json
    assert sorted(row["session"]["kind"] for row in found) == ["daemon", "worker", "worker"]
    assert any("double" in line for line in sh.ok("sessions").lines)


def test_top_shows_one_frame(sh: Shell) -> None:
    said = sh.ok("top", "--once").out
    assert said.startswith("holdfast ")
    assert "WORKER" in said
    view = sh.ok("top", "--json").json
    assert view["machine"]["cpus"] == os.cpu_count()


def test_top_lives_until_q_is_pressed(sh: Shell) -> None:
    terminal = sh.terminal("top", "--interval", "0.2")
    terminal.wait_for("q quits")
    terminal.resize(40, 12)
    terminal.type("x")
    terminal.type("q")
    assert terminal.end() == 0


def test_top_needs_a_terminal(sh: Shell) -> None:
    said = sh("top")
    assert (said.code, "holdfast top --once" in said.err) == (2, True)


def test_a_measurement_leaves_nothing_behind(sh: Shell) -> None:
    figures = sh.ok("bench", "--seconds", 1, "--json").json
    assert figures["drained"] > 0
    assert min(value for value in figures.values()) > 0
    assert sh.ok("ls", "--queue", "holdfast.bench", "-q").lines == []
    assert not any(line.startswith("holdfast.bench") for line in sh.ok("queue").lines)


def test_a_worker_by_hand_runs_jobs_of_its_tasks(sh: Shell, house: House, tmp_path: Path) -> None:
    app = tmp_path / "by_hand.py"
    app.write_text("from holdfast import Holdfast\nhf = Holdfast()\nhf.task(name='by_hand')(lambda: 'here')\n")
    worker = sh.start("worker", "--app", app)
    try:
        assert sh.ok("enqueue", "by_hand", "--wait", "--anyway").out == '"here"\n'
    finally:
        worker.terminate()
        assert worker.wait(60) == 0


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("stat", "status"),
        ("ls --st", "--state"),
        ("ls --state fai", "FAILED"),
        ("pause kn", "known-queue"),
        ("db ba", "backup"),
        ("group show gro", "grown"),
        ("completion z", "zsh"),
    ],
)
def test_a_shell_completes(sh: Shell, typed: str, offered: str) -> None:
    sh.number("enqueue", "double", '{"x": 1}', "--queue", "known-queue", "--delay", "1h")
    sh.ok("group", "create", "grown")
    assert offered in completed(sh, typed)


def test_a_shell_completes_job_numbers(sh: Shell) -> None:
    job = sh.number("enqueue", "double", '{"x": 1}', "--delay", "1h")
    assert str(job) in completed(sh, f"show {str(job)[:1]}")


def test_a_shell_completes_the_names_of_watches(sh: Shell, tmp_path: Path) -> None:
    sh.ok("watch", "add", tmp_path, "--name", "known-watch")
    sh.ok("watch", "add", tmp_path, "--name", "other-watch")
    assert completed(sh, "watch show kn") == ["known-watch"]


@pytest.mark.parametrize("typed", ["--home {} group show gro", "group show --home {} gro"])
def test_a_shell_completes_by_the_home_that_was_said(sh: Shell, empty: Shell, typed: str) -> None:
    sh.ok("group", "create", "grown")
    assert "grown" in completed(empty, typed.format(sh.home.folder))


def test_completion_is_silent_without_a_daemon(empty: Shell) -> None:
    said = complete(empty, "show 1")
    assert (said.out.strip(), said.err) == ("", "")


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_a_shell_calls_us(empty: Shell, shell: str) -> None:
    assert "_HOLDFAST_COMPLETE" in empty.ok("completion", shell).out


def completed(sh: Shell, typed: str) -> list[str]:
    return [line.partition(",")[2] for line in complete(sh, typed).lines]


def complete(sh: Shell, typed: str) -> Said:
    words = f"holdfast {typed}"
    count = str(len(words.split()) - 1)
    return sh(env={"_HOLDFAST_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": count})
