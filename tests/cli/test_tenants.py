"""Who shares a queue, from the command line."""

from __future__ import annotations

from tests.cli.shell import Shell


def test_a_weight_is_set_and_shown(sh: Shell) -> None:
    sh.ok("pause", "shared")
    for _ in range(2):
        sh.ok("enqueue", "double", '{"x": 1}', "--queue", "shared", "--subject", "acme::shop::1")
    assert sh.ok("tenant", "weight", "acme::shop", "30").lines == ["tenant acme::shop has the weight 30 in every queue"]
    shown = sh.ok("tenant", "ls", "--queue", "shared")
    assert [line.split() for line in shown.lines[1:]] == [["shared", "acme::shop", "30", "30", "100%", "0", "yes"]]
    assert sh("tenant", "weight", "acme::shop", "0").code == 2


def test_activity_raises_the_weight(sh: Shell) -> None:
    said = sh.ok("activity", "acme::blog", "--for", "10m", "--json").json
    assert said["tenant"] == "acme::blog"
    sh.ok("pause", "posts")
    sh.ok("enqueue", "double", '{"x": 1}', "--queue", "posts", "--subject", "acme::blog::1")
    [found] = [one for one in sh.ok("tenant", "ls", "-q", "posts", "--json").json if one["tenant"] == "acme::blog"]
    assert (found["weight_now"], found["active_until"]) == (100, said["active_until"])


def test_a_job_says_whose_it_is_and_is_found_by_that(sh: Shell) -> None:
    sh.ok("pause", "whose")
    mine = sh.number("enqueue", "double", '{"x": 1}', "--queue", "whose", "--tenant", "me")
    sh.number("run", "--queue", "whose", "--tenant", "you", "--", "true")
    assert sh.ok("ls", "-q", "--tenant", "me").lines == [str(mine)]
    sh.ok("template", "add", "ours", "--task", "double", "--tenant", "us")
    assert sh.ok("template", "show", "ours", "--json").json["options"]["tenant"] == "us"


def test_a_weight_of_a_new_tenant_warns_is_listed_and_set_back(sh: Shell) -> None:
    said = sh.ok("tenant", "weight", "nobody-yet", "50")
    assert said.err == "holdfast: tenant 'nobody-yet' is new: no job of it is known so far\n"
    rows = [line.split()[:3] for line in sh.ok("tenant").lines]
    assert ["(every)", "nobody-yet", "50"] in rows
    sh.ok("tenant", "weight", "nobody-yet", "--clear")
    assert "nobody-yet" not in sh.ok("tenant").out
    assert [sh("tenant", "weight", "nobody-yet", *words).code for words in ((), ("5", "--clear"), ("-5",))] == [2, 2, 2]


def test_a_name_that_nobody_knows_yet_is_warned_of(sh: Shell) -> None:
    warning = "holdfast: queue 'pasued' is new: no job, no setting and no worker names it so far\n"
    assert sh.ok("resume", "default").err == ""
    assert sh.ok("pause", "pasued").err == warning
    assert sh.ok("resume", "pasued").err == ""
