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
