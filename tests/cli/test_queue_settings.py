"""What is set for a queue from the command line, and how that is shown."""

from __future__ import annotations

import pytest

from tests.cli.shell import Shell


def test_every_setting_is_set_shown_and_set_back(sh: Shell) -> None:
    words = "--limit 2 --rate 10/min --max-length 1000 --overflow shed --class heavy --retries 5 --timeout 10m"
    words += " --breaker 3 --breaker-for 1m"
    said = sh.ok("queue", "mail", *words.split())
    assert said.lines[1].split()[:8] == ["mail", "heavy", "0", "2", "10/min", "0", "0", "1000"]
    assert said.lines[-2:] == [
        "when it is full, lower priorities make room; jobs that do not say have 5 retries and a time-out of 10m;",
        "3 failures in a row by the fault of the machine hold it back for 1m",
    ]
    sh.ok("queue", "mail", "--clear", "rate", "--clear", "retry", "--no-limit", "--timeout", "5s")
    [found] = sh.ok("queue", "mail", "--json").json
    assert (found["rate_limit"], found["retry"], found["concurrency"], found["timeout_ms"]) == (None, None, None, 5_000)
    assert (found["max_length"], found["queue_class"]) == (1000, "heavy")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("mail", "--rate", "often"), "rate 'often' is not valid"),
        (("mail", "--overflow", "drop"), "overflow 'drop' is not valid"),
        (("mail", "--clear", "speed"), "clear 'speed' is not valid"),
        (("mail", "--clear", "rate", "--rate", "5/s"), "rate is to be set to '5/s' and to be cleared"),
        (("mail", "--rate", "1000000000/s"), "rate '1000000000/s' is not valid: use 1 to 1000000 starts"),
        (("mail", "--rate", "5/400d"), "--rate '5/400d' is not valid: use a window of 1 ms to 366 days"),
        (("mail", "--limit", "two"), "--limit 'two' is not valid: use a whole number from 0 to 1000000"),
        (("--rate", "1/s"), "name the queue"),
    ],
)
def test_a_mistake_is_named_with_its_value(sh: Shell, words: tuple[str, ...], said: str) -> None:
    answer = sh("queue", *words)
    assert (answer.code, said in answer.err) == (2, True), answer


def test_an_enqueue_waits_for_room_and_says_so(sh: Shell) -> None:
    sh.ok("queue", "tight", "--max-length", "1")
    first = sh.number("enqueue", "double", '{"x": 1}', "--queue", "tight", "--delay", "1h")
    second = sh.start("enqueue", "double", '{"x": 2}', "--queue", "tight", "--delay", "1h")
    assert second.stderr is not None
    assert "waiting for room, 30 seconds at most: queue 'tight' is full" in second.stderr.readline()
    sh.ok("queue", "tight", "--max-length", "2")
    out, _ = second.communicate(timeout=60)
    assert int(out) > first


def test_an_enqueue_need_not_wait_for_room(sh: Shell) -> None:
    sh.ok("queue", "none", "--max-length", "0")
    assert "Waiting does not help" in sh("enqueue", "double", '{"x": 1}', "--queue", "none").err
    sh.ok("queue", "none", "--max-length", "1")
    sh.ok("enqueue", "double", '{"x": 1}', "--queue", "none", "--delay", "1h")
    said = sh("run", "--queue", "none", "--wait-for-room", "0", "--", "true")
    assert (said.code, said.err.startswith("holdfast: queue 'none' is full")) == (1, True), said


def test_the_last_setting_of_a_queue_without_jobs_is_set_back(sh: Shell) -> None:
    sh.ok("queue", "brief", "--max-length", "3", "--retries", "2")
    said = sh.ok("queue", "brief", "--clear", "max-length", "--clear", "retries")
    assert said.lines[1].split()[:2] == ["brief", "normal"]
    assert sh("queue", "brief").code == 2


def test_the_systems_own_queues_are_shown_as_light_and_without_a_breaker(sh: Shell) -> None:
    said = sh.ok("queue", "holdfast.maintenance", "--limit", "1")
    assert said.lines[1].split()[:2] == ["holdfast.maintenance", "light"]
    assert said.lines[-1] == "failures by the fault of the machine do not hold it back"


def test_the_list_says_what_holds_a_queue_back(sh: Shell) -> None:
    sh.ok("queue", "burden", "--class", "heavy")
    sh.ok("pause", "burden", "--reason", "not now")
    sh.ok("simulate", "cpu=99")
    try:
        sh.number("enqueue", "double", '{"x": 1}', "--queue", "burden")
        [line] = sh.ok("ls", "--queue", "burden").lines[1:]
    finally:
        sh.ok("simulate", "off")
    assert "queue is paused: not now, held back: " in line


def test_a_long_reason_leaves_the_other_columns_of_top_alone(sh: Shell) -> None:
    sh.ok("pause", "a-queue-with-a-name", "--reason", "because " * 60)
    [line] = [line for line in sh.ok("top", "--once").lines if line.startswith("a-queue-with-a-name ")]
    assert ("paused because" in line, line.endswith("…")) == (True, True), line
