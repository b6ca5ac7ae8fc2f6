"""Who shares a queue, from the command line."""

from __future__ import annotations

from tests.cli.shell import Shell


def test_a_weight_is_set_and_shown(sh: Shell) -> None:
    sh.ok("pause", "shared")
    for _ in range(2):
        sh.ok("enqueue", "double", '{"x": 1}', "--queue", "shared", "--subject", "acme::shop::1")
    assert sh.ok("tenant", "weight", "acme::shop", "30").lines == ["tenant acme::shop has the weight 30 in every queue"]
    shown = sh.ok("tenant", "ls", "--queue", "shared")
    assert ["shared", "acme::shop", "30", "30", "75%", "0", "yes"] in [line.split() for line in shown.lines]
    assert sh("tenant", "weight", "acme::shop", "0").code == 2


def test_activity_raises_the_weight(sh: Shell) -> None:
    said = sh.ok("activity", "acme::blog", "--for", "10m", "--json").json
    assert said["tenant"] == "acme::blog"
    sh.ok("pause", "posts")
    sh.ok("enqueue", "double", '{"x": 1}', "--queue", "posts", "--subject", "acme::blog::1")
    [found] = [one for one in sh.ok("tenant", "ls", "-q", "posts", "--json").json if one["tenant"] == "acme::blog"]
    assert (found["weight_now"], found["active_until"]) == (100, said["active_until"])
