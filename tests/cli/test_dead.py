"""Dead letters from the command line, through a daemon and its workers."""

from __future__ import annotations

from holdfast import Holdfast
from holdfast.core.messages.dead_letters import DeadLetters
from tests.chaos.processes import PATIENCE_S, until
from tests.cli.shell import Shell
from tests.daemon.house import House


def fail(hf: Holdfast, *reasons: str) -> list[int]:
    """Jobs that have failed for these reasons."""
    jobs = [hf.enqueue("fail", {"reason": reason}) for reason in reasons]
    for job in jobs:
        job.wait(PATIENCE_S)
    return [job.job.number for job in jobs]


def letters_of(hf: Holdfast, pattern: str) -> DeadLetters | None:
    return next((letters for letters in hf.dead_letters().letters if letters.pattern == pattern), None)


def test_all_of_one_kind_run_again_and_come_back_if_they_fail(house: House, sh: Shell) -> None:
    hf = house.client()
    first, second = fail(hf, "shelf 3 is empty", "shelf 44 is empty")
    [letters] = sh.ok("dead", "ls", "--json").json["letters"]
    assert (letters["pattern"], letters["jobs"], letters["code"]) == ("shelf <*> is empty", 2, "ValueError")
    fingerprint = letters["fingerprint"]
    assert sh.ok("dead", "ls").lines[1].split()[:2] == [fingerprint, "2"]
    assert [line.split()[0] for line in sh.ok("dead", "show", fingerprint).lines[-2:]] == [str(second), str(first)]
    refused = sh("dead", "retry", fingerprint)
    assert (refused.code, "this would run again 2 jobs" in refused.err) == (2, True)

    assert sh.ok("dead", "retry", fingerprint, "--yes").out == "2 enqueued again\n"
    until(lambda: (again := letters_of(hf, "shelf <*> is empty")) is not None and again.jobs == 2, "both fail again")
    again = hf.job(hf.dead_letter(first).retried_as or "").job.number
    assert f"runs again as  job {again}\n" in sh.ok("dead", "show", first).out


def test_what_is_discarded_is_gone_and_says_who_and_why(house: House, sh: Shell) -> None:
    hf = house.client()
    [job] = fail(hf, "nobody is at home")
    fail(hf, "another thing")
    letters = letters_of(hf, "nobody is at home")
    assert letters is not None
    assert sh.ok("dead", "discard", letters.fingerprint, "--reason", "they moved", "--yes").out == "1 discarded\n"
    said = sh.ok("dead", "show", job).out
    assert [text for text in ("discarded ", "(holdfast dead discard)", "they moved") if text not in said] == []
    done = sh.ok("dead", "discard", "--all", "--yes", "--json").json
    assert sum(closing["jobs"] for closing in done.values()) >= 1
    assert "no dead letters" in sh.ok("dead", "ls").err
    assert hf.job(job).state == "FAILED"


def test_a_mistake_is_told(sh: Shell) -> None:
    assert sh("dead", "retry").code == 2
    assert "not both" in sh("dead", "discard", "f0123456789ab", "--all").err
    assert "no dead letters with the fingerprint" in sh("dead", "retry", "f0123456789ab").err


def test_without_a_word_dead_lists(house: House, sh: Shell) -> None:
    fail(house.client(), "the list is short")
    assert "the list is short" in sh.ok("dead").out
    assert "the list is short" not in sh.ok("dead", "--poison").out


def test_a_job_without_a_letter_is_named_by_its_number(sh: Shell) -> None:
    job = sh.number("enqueue", "double", '{"x": 1}', "--delay", "1h")
    assert f"job {job} has left no dead letter" in sh("dead", "show", job).err
