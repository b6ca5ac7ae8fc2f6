"""Tokens, from the command line."""

from __future__ import annotations

from tests.cli.shell import Shell


def test_they_are_set_and_shown(sh: Shell) -> None:
    said = sh.ok("tokens", "set", "--cpu", "7", "--timeout", "1m").out
    assert "has 7 cpu, 1 gpu, 2 io; smaller jobs pass for 1m" in said
    [machine] = sh.ok("tokens", "--json").json
    assert (machine["capacity"], machine["set_by"]) == ({"cpu": 7, "gpu": 1, "io": 2}, "hand")
    assert "of 7" in sh.ok("tokens").out
    assert "of 7 cpu" in sh.ok("status").out
    assert sh("tokens", "set").code == 2
    assert " --timeout 'abc' is not valid: use 0 s to 100 years" in sh("tokens", "set", "--timeout", "abc").err
    assert sh("tokens", "set", "--cpu", "-1").code == 2


def test_a_job_shows_what_it_needs_and_why_it_waits(sh: Shell) -> None:
    job = sh.number("enqueue", "double", '{"x": 1}', "--tokens", "cpu=900,io=1")
    assert "900 cpu, 1 io" in sh.ok("show", str(job)).out
    assert "it needs 900 cpu, 1 io, more than any machine has" in sh.ok("why", str(job)).out
    for bad in ("cpu", "cpu=x", "ram=1", "cpu=1,cpu=2", "cpu=-1"):
        assert sh("enqueue", "double", "{}", "--tokens", bad).code == 2
    sh.ok("cancel", str(job))
