"""Who could change what the daemon runs: every case of owner, mode and group, side by side."""

from __future__ import annotations

import itertools

import pytest

from holdfast.core.machine.ownership import Ownership, exposure

ROOT, USER, OTHER = 0, 1000, 1001
MODES = (0o600, 0o644, 0o664, 0o666, 0o755, 0o775, 0o777, 0o1777, 0o1775)


def owned(
    uid: int = USER, mode: int = 0o700, group: str | None = None, *, path: str = "/x", is_link: bool = False
) -> Ownership:
    return Ownership(path, uid, f"uid {uid}", mode, group, is_link)


CLOSED, OPEN, STICKY = owned(mode=0o755), owned(mode=0o777, path="/open"), owned(ROOT, 0o1777, path="/tmp")


@pytest.mark.parametrize(
    ("uid", "mode", "group", "is_folder_above"),
    list(itertools.product((ROOT, USER, OTHER), MODES, (None, "dev"), (False, True))),
)
def test_every_owner_mode_and_group(uid: int, mode: int, group: str | None, is_folder_above: bool) -> None:
    found = owned(uid, mode, group)
    verdict = exposure(CLOSED, [found], USER) if is_folder_above else exposure(found, [CLOSED], USER)
    is_written_by_others = bool(mode & 0o002 or (mode & 0o020 and group))
    is_forgiven = is_folder_above and bool(mode & 0o1000)
    assert (verdict is not None) == (uid == OTHER or (is_written_by_others and not is_forgiven))


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (
            owned(mode=0o777),
            "/x can be written by everybody, so others could decide what runs here; first: chmod go-w /x",
        ),
        (
            owned(mode=0o775, group="dev"),
            "/x can be written by group dev, which has other members, so others could decide what runs here; "
            "first: chmod g-w /x",
        ),
        (
            owned(OTHER, path="/my home"),
            "/my home belongs to uid 1001, so others could decide what runs here; first: "
            "chown -h 1000 '/my home' && chmod go-w '/my home'",
        ),
    ],
)
def test_what_is_said_has_the_command_that_helps(found: Ownership, said: str) -> None:
    assert str(exposure(found, [], USER)) == said


@pytest.mark.parametrize(
    "passed", [CLOSED, owned(ROOT, 0o755), STICKY, owned(mode=0o775)], ids=["own", "root's", "sticky", "private group"]
)
@pytest.mark.parametrize("exposed", [OPEN, owned(OTHER, path="/open")], ids=["open to all", "of another user"])
def test_every_folder_above_counts(passed: Ownership, exposed: Ownership) -> None:
    found = exposure(CLOSED, [passed, exposed, CLOSED], USER)
    assert found is not None
    assert found.path == "/open"
    assert exposure(CLOSED, [passed, passed, CLOSED], USER) is None


def test_a_closed_thing_does_not_make_up_for_an_open_folder() -> None:
    assert exposure(owned(mode=0o700), [OPEN], USER) is not None


def test_of_a_link_only_the_owner_matters() -> None:
    assert exposure(owned(mode=0o777, is_link=True), [CLOSED], USER) is None
    assert exposure(owned(OTHER, 0o777, is_link=True), [CLOSED], USER) is not None


def test_a_thing_that_is_not_there_yet_is_judged_by_the_folders_above_it() -> None:
    assert exposure(None, [STICKY, CLOSED], USER) is None
    assert exposure(None, [OPEN], USER) is not None


def test_root_may_have_another_id() -> None:
    assert exposure(CLOSED, [owned(65_534, 0o755)], USER, roots=(ROOT, 65_534)) is None
    assert exposure(CLOSED, [owned(65_534, 0o755)], USER) is not None


def test_for_what_is_exposed_by_a_sticky_folder_another_folder_is_proposed() -> None:
    found = exposure(STICKY, [], USER)
    assert found is not None
    assert found.remedy == "use a folder that only you can write to"


def test_root_trusts_itself_alone() -> None:
    assert exposure(owned(ROOT), [owned(ROOT, 0o755)], ROOT) is None
    assert exposure(owned(USER), [owned(ROOT, 0o755)], ROOT) is not None
