"""`holdfast workspace`: made, looked at, entered, stopped and deleted from a shell."""

from __future__ import annotations

import json
import os
import signal
import sys
from urllib.request import urlopen

import pytest

from tests.chaos.processes import PATIENCE_S, until
from tests.cli.shell import Shell

SERVE = (sys.executable, "-m", "http.server", "{port}", "--bind", "127.0.0.1")


def test_a_workspace_from_its_beginning_to_its_end(sh: Shell) -> None:
    made = sh.ok("workspace", "create", "dev", "--wait", "--env", "LEVEL=3", "--", *SERVE)
    assert made.out.startswith("workspace dev is RUNNING at 127.0.0.1:")
    try:
        inside = sh.ok("workspace", "shell", "dev", "--", "sh", "-c", "echo hello > note; echo $LEVEL $PWD")
        assert inside.out.startswith("3 /")
        view = sh.ok("workspace", "show", "dev", "--json").json
        with urlopen(f"http://{view['address']}/note", timeout=PATIENCE_S) as answer:
            assert answer.read() == b"hello\n"
        assert sh("workspace", "shell", "dev", "--", "sh", "-c", "exit 3").code == 3
        assert "GET /note" in sh.ok("workspace", "logs", "dev").out
        shown = sh.ok("workspace", "show", "dev").out
        assert "phase      RUNNING, since" in shown
        assert "infra.container_ready  yes     ContainerRunning" in shown
        assert sh.ok("workspace", "stop", "dev", "-w").out == "workspace dev is STANDBY\n"
        assert sh.ok("workspace").lines[1].split()[:3] == ["dev", "STANDBY", "STANDBY"]
        changes = sh.ok("workspace", "changes", "dev", "--json").json
        assert [(one["from_state"], one["to_state"], one["why"]) for one in changes] == [
            ("RUNNING", "STANDBY", "user"),
            (None, "RUNNING", "user"),
        ]
        assert "holdfast workspace stop" in sh.ok("workspace", "changes", "dev").lines[1]
    finally:
        assert sh.ok("workspace", "delete", "dev", "--yes", "--wait").out == "workspace dev is deleted\n"
    assert sh("workspace", "show", "dev").err == "holdfast: there is no workspace 'dev'; see: holdfast workspace ls\n"


def test_json_is_one_object_with_all_columns(sh: Shell) -> None:
    made = sh.ok("workspace", "create", "box", "--stopped", "--wait", "--json", "--", "sleep", "600").json
    try:
        assert sh.ok("workspace", "show", "box", "--json").json == made
        assert made["conditions"]["storage.volume_ready"]["status"] is True
        assert (made["home"], made["address"]) == (made["home_ctx"]["path"], None)
        assert {"op_id", "archive_key", "last_access_at", "generation", "instance_ctx", "deleted_at"} <= made.keys()
        assert sh.ok("workspace", "ls", "--json").json == [made]
    finally:
        sh.ok("workspace", "delete", "box", "--yes", "--wait")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("create", "Dev", "--", "x"), "name 'Dev' is not valid: use a name as hosts have it"),
        (("create", "dev"), "Missing argument"),
        (("create", "dev", "--env", "LEVEL", "--", "x"), "--env 'LEVEL' is not a variable: write NAME=VALUE"),
        (("create", "dev", "--standby-ttl", "5s", "--", "x"), "standby_ttl 5 s is not valid: give at least 60 s"),
        (("create", "dev", "--archive-ttl", "soon", "--", "x"), "--archive-ttl 'soon' is not valid"),
        (("create", "dev", "--wait", "--no-wait", "--", "x"), "--no-wait contradicts --wait"),
        (("show", "nope"), "there is no workspace 'nope'"),
        (("shell", "nope"), "there is no workspace 'nope'"),
        (("delete", "nope", "--yes"), "there is no workspace 'nope'"),
    ],
)
def test_bad_words_are_refused_in_one_line(sh: Shell, words: tuple[str, ...], said: str) -> None:
    answer = sh("workspace", *words)
    assert answer.code in (1, 2)
    assert said in answer.err
    assert "Traceback" not in answer.err
    assert sh.ok("workspace", "ls", "--json").json == []


def test_the_third_is_refused_and_a_delete_asks(sh: Shell) -> None:
    for name in ("one", "two"):
        sh.ok("workspace", "create", name, "--", "sleep", "600")
    third = sh("workspace", "create", "three", "--", "sleep", "600")
    assert (third.code, "at most 2 may: one, two" in third.err) == (1, True)
    assert "Nobody can be asked here: add --yes" in sh("workspace", "delete", "one").err
    for name in ("one", "two"):
        sh.ok("workspace", "delete", name, "--yes", "--wait")


def test_a_wait_that_ends_in_an_error_says_why_and_what_to_do(sh: Shell) -> None:
    answer = sh("workspace", "create", "bad", "--wait", "--", "no-such-program")
    try:
        assert answer.code == 1
        assert "workspace 'bad' is in ERROR: RetryExceeded" in answer.err
        assert "holdfast workspace recover bad" in answer.err
        shown = sh.ok("workspace", "show", "bad").out
        assert "the end of its log:" in shown
        assert "there is no command 'no-such-program'" in shown
    finally:
        sh.ok("workspace", "delete", "bad", "--yes", "--wait")


def test_its_log_can_be_followed(sh: Shell) -> None:
    script = "echo one; while [ ! -e go ]; do sleep 0.05; done; echo two; exec sleep 600"
    sh.ok("workspace", "create", "talk", "--wait", "--", "sh", "-c", script)
    following = sh.start("workspace", "logs", "talk", "-f")
    try:
        assert following.stdout is not None
        assert following.stdout.readline() == "one\n"
        sh.ok("workspace", "shell", "talk", "--", "touch", "go")
        assert following.stdout.readline() == "two\n"
        assert sh.ok("workspace", "logs", "talk", "-n", "1").out == "two\n"
        assert sh.ok("workspace", "logs", "talk", "-n", "0").out == "one\ntwo\n"
    finally:
        following.kill()
        following.communicate()
        sh.ok("workspace", "delete", "talk", "--yes", "--wait")


def test_down_names_those_that_go_on(empty: Shell) -> None:
    empty.ok("up", "--detach")
    empty.ok("workspace", "create", "dev", "--wait", "--", "sleep", "600")
    pid = empty.ok("workspace", "show", "dev", "--json").json["instance_ctx"]["pid"]
    assert empty.ok("down").lines == ["holdfast is down", f"workspace dev goes on: pid {pid}"]
    empty.ok("up", "--detach")
    empty.ok("workspace", "delete", "dev", "--yes", "--wait")
    assert json.loads(empty.ok("down", "--json").out)["workspaces"] == []


def test_a_daemon_that_hangs_is_asked_to_stop_all_the_same(empty: Shell) -> None:
    pid = empty.ok("up", "--detach", "--json").json["pid"]
    os.kill(pid, signal.SIGSTOP)
    said = empty("down", "--timeout", "1s")
    assert (said.code, "has not stopped yet" in said.err) == (1, True)
    os.kill(pid, signal.SIGCONT)
    until(lambda: not empty.home.is_lived_in, "it has stopped")


def test_its_name_is_completed(sh: Shell) -> None:
    sh.ok("workspace", "create", "dev", "--stopped", "--wait", "--", "sleep", "600")
    try:
        words = {"COMP_WORDS": "holdfast workspace show d", "COMP_CWORD": "3", "_HOLDFAST_COMPLETE": "bash_complete"}
        until(lambda: "dev" in sh(env=words).out, "it is offered")
    finally:
        sh.ok("workspace", "delete", "dev", "--yes", "--wait")
