"""Who may call, from the command line."""

from __future__ import annotations

from tests.cli.shell import Shell


def test_a_user_is_added_listed_rotated_and_revoked(sh: Shell) -> None:
    added = sh.ok("access", "add", "ci", "--role", "operate", "--expires", "90d")
    assert added.out.startswith("hf_")
    assert "ci has the role operate until " in added.err
    rotated = sh.ok("access", "rotate", "ci", "--json").json
    assert rotated["token"] not in added.out
    [row] = sh.ok("access").lines[1:]
    assert row.split()[:3] == ["ci", "operate", "active"]
    assert sh.ok("access", "revoke", "ci").out == "the token of ci is revoked\n"
    [user] = sh.ok("access", "ls", "--json").json
    assert user["disabled_at"] is not None
    assert "revoked" in sh.ok("access", "ls").out
    assert rotated["token"] not in sh.ok("access", "ls", "--json").out


def test_what_makes_no_sense_is_refused(sh: Shell) -> None:
    assert "role 'root' is not valid: use one of 'metrics'" in sh("access", "add", "a", "--role", "root").err
    assert sh("access", "add", "a").code == 2
    assert (
        "--expires 'soon' is not valid: use 1 ms to 100 years"
        in sh("access", "add", "a", "--role", "read", "--expires", "soon").err
    )
    assert (
        "--expires '0' is not valid: use 1 ms to 100 years"
        in sh("access", "add", "a", "--role", "read", "--expires", "0").err
    )
    assert "there is no user 'nobody'" in sh("access", "revoke", "nobody").err
    assert sh("access", "rotate", "nobody").code == 1
