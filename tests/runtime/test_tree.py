"""What is seen in a watched folder: its files and links, without what is ignored, and nothing beyond it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from holdfast.core.watching.ignore_rules import LONGEST_LINE, MOST_BYTES, MOST_LINES, MOST_RULES
from holdfast.runtime.planner.tree import FolderGone, Scan, Tree, fingerprint


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    folder.mkdir()
    return folder


def put(root: Path, *files: str, text: str = "") -> None:
    for name in files:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def tree(root: Path, globs: tuple[str, ...] = (), ignores: tuple[str, ...] = (), gitignore: bool = True) -> Tree:
    return Tree(str(root), globs, ignores, gitignore)


def scan(root: Path, *args: Any, **options: Any) -> Scan:
    walk = Scan(tree(root, *args, **options))
    while not walk.step(2):
        pass
    return walk


def seen(root: Path, *args: Any, **options: Any) -> list[str]:
    return sorted(scan(root, *args, **options).files)


def test_files_of_all_depths_are_seen_in_slices(root: Path) -> None:
    put(root, "a", "b/c", "b/d/e", "f/g/h/i")
    assert seen(root) == ["a", "b/c", "b/d/e", "f/g/h/i"]
    assert {Path(folder).name for folder in scan(root).folders} == {"root", "b", "d", "f", "g", "h"}


def test_globs_choose(root: Path) -> None:
    put(root, "a.py", "b.md", "c/d.py")
    assert seen(root, ("*.py",)) == ["a.py", "c/d.py"]


def test_what_git_ignores_is_not_seen(root: Path) -> None:
    put(root, "a.log", "keep.log", "build/x", "src/a.log", "src/deep/local", "src/deep/b", "sub/build/y", "src/only")
    (root / ".gitignore").write_text("*.log\n!keep.log\n/build/\n# a comment\n\n[z-a]\n")
    (root / "src" / ".gitignore").write_text("deep/local\n!a.log\n/only\n")
    ignored = {".gitignore", "src/.gitignore"}
    assert set(seen(root)) - ignored == {"keep.log", "src/a.log", "src/deep/b", "sub/build/y"}
    assert "a.log" in seen(root, gitignore=False)


def test_the_rules_of_the_repository_around_the_folder_hold_in_it(root: Path) -> None:
    put(root, "sub/a.tmp", "sub/b", "sub/local", ".git/info/exclude")
    (root / ".gitignore").write_text("*.tmp\n")
    (root / ".git" / "info" / "exclude").write_text("/sub/local\n")
    assert seen(root / "sub") == ["b"]


def test_rules_further_up_do_not_hold_where_there_is_no_repository(root: Path) -> None:
    put(root, "sub/a.tmp")
    (root / ".gitignore").write_text("*.tmp\n")
    assert seen(root / "sub") == ["a.tmp"]


def test_what_is_in_an_ignored_folder_cannot_be_taken_back_from_inside(root: Path) -> None:
    put(root, "build/a")
    (root / ".gitignore").write_text("build/\n!build/a\n")
    assert not tree(root).wants("build/a")
    assert seen(root) == [".gitignore"]


def test_the_rules_of_the_watch_have_the_last_word(root: Path) -> None:
    put(root, "a.gen", "b.py", "notes~")
    (root / ".gitignore").write_text("*.gen\n")
    assert seen(root, (), ("*.py", "!a.gen", ".gitignore")) == ["a.gen"]
    assert seen(root, (), ("!notes~", "*.*")) == ["notes~"]


def test_what_editors_leave_and_what_git_keeps_is_not_seen(root: Path) -> None:
    put(root, "a.py~", ".a.py.swp", "4913", ".#a.py", "#a.py#", ".git/HEAD", "sub/.git/HEAD", "a.py")
    assert seen(root) == ["a.py"]
    assert not tree(root).wants("sub/.git/HEAD")


def test_a_link_is_a_thing_of_its_own_and_is_not_followed(root: Path, tmp_path: Path) -> None:
    put(tmp_path, "outside/secret")
    put(root, "a")
    (root / "out").symlink_to(tmp_path / "outside")
    (root / "loop").symlink_to(root)
    (root / "broken").symlink_to("nowhere")
    assert seen(root) == ["a", "broken", "loop", "out"]
    assert tree(root).goes_through_a_link("out/secret")
    before = fingerprint(str(root / "broken"))
    (root / "broken").unlink()
    (root / "broken").symlink_to("elsewhere")
    assert fingerprint(str(root / "broken")) != before


def test_a_pipe_is_no_file(root: Path) -> None:
    os.mkfifo(root / "pipe")
    assert seen(root) == []


def test_a_name_that_is_not_utf8_is_seen_as_text(root: Path) -> None:
    with open(os.fsencode(root) + b"/a\xff", "wb"):
        pass
    assert seen(root) == ["a\\xff"]


def test_a_file_that_is_put_in_the_place_of_another_differs(root: Path) -> None:
    put(root, "a", "b", text="same")
    os.utime(root / "a", ns=(1, 1))
    os.utime(root / "b", ns=(1, 1))
    before = fingerprint(str(root / "a"))
    (root / "b").replace(root / "a")
    assert fingerprint(str(root / "a")) != before


def test_a_folder_that_is_not_there_is_said_so(root: Path) -> None:
    with pytest.raises(FolderGone, match="the folder is not there"):
        scan(root / "nowhere")
    put(root, "file")
    with pytest.raises(FolderGone, match="this is not a folder"):
        scan(root / "file")


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is closed to root")
def test_what_cannot_be_read_is_not_known(root: Path) -> None:
    put(root, "open/a", "closed/b")
    (root / "closed").chmod(0)
    try:
        walk = scan(root)
    finally:
        (root / "closed").chmod(0o700)
    assert sorted(walk.files) == ["open/a"]
    assert walk.unreadable == ["closed"]
    assert not walk.knows("closed/b")
    assert walk.knows("open/gone")


def test_a_file_of_rules_counts_up_to_so_many_lines(root: Path) -> None:
    put(root, "first", "last", "behind")
    lines = ["first", *["# nothing"] * (MOST_LINES - 2), "last"]
    (root / ".gitignore").write_text("\n".join(lines) + "\n")
    whole = tree(root)
    assert not whole.wants("last")
    assert whole.ignoring.cut == {}
    (root / ".gitignore").write_text("\n".join([*lines, "behind"]))
    cut = tree(root)
    assert not cut.wants("last")
    assert cut.wants("behind")
    assert list(cut.ignoring.cut) == [str(root / ".gitignore")]


def test_a_rule_that_is_only_there_in_part_does_not_count(root: Path) -> None:
    lines = b"first\n" + (b"#" * 1_000 + b"\n") * 300
    # What fits in of the last line is a star, which alone would mean everything.
    (root / ".gitignore").write_bytes(lines[: MOST_BYTES - 2] + b"\n*.log\n")
    cut = tree(root)
    assert not cut.wants("first")
    assert cut.wants("other")
    assert list(cut.ignoring.cut) == [str(root / ".gitignore")]


def test_a_rule_longer_than_any_path_is_left_out(root: Path) -> None:
    (root / ".gitignore").write_text("*" * (LONGEST_LINE + 1) + "\nfirst\n")
    assert tree(root).wants("other")
    assert not tree(root).wants("first")


def test_a_pipe_with_the_name_of_a_file_of_rules_keeps_nobody_waiting(root: Path) -> None:
    put(root, "a")
    os.mkfifo(root / ".gitignore")
    assert seen(root) == ["a"]


def test_a_link_with_the_name_of_a_file_of_rules_is_not_followed(root: Path, tmp_path: Path) -> None:
    put(root, "a")
    put(tmp_path, "rules", text="*\n")
    (root / ".gitignore").symlink_to(tmp_path / "rules")
    assert seen(root) == [".gitignore", "a"]


def test_a_long_match_can_be_given_up(root: Path) -> None:
    def give_up() -> None:
        raise InterruptedError

    put(root, "a")
    with pytest.raises(InterruptedError):
        Tree(str(root), (), (), True, give_up).wants("a")


def test_the_same_rules_in_many_folders_count_once(root: Path) -> None:
    put(root, *(f"folder{number}/{name}" for number in range(150) for name in ("rule149", "other")))
    for folder in root.iterdir():
        (folder / ".gitignore").write_text("".join(f"rule{number}\n" for number in range(150)))
    walk = tree(root)
    assert [path for path in root.glob("*/rule149") if walk.wants(f"{path.parent.name}/{path.name}")] == []
    assert walk.ignoring.without_room == {}


def test_rules_count_up_to_so_many_in_all_folders_together(root: Path) -> None:
    most = MOST_RULES // 2 - 1
    for folder in "abcd":
        put(root, f"{folder}/.gitignore", text="".join(f"{folder}{number}\n" for number in range(most)))
    walk = tree(root)
    for _ in range(2):  # The second time the rules are read again, and have the same room as before.
        assert not walk.wants(f"a/a{most - 1}")
        assert not walk.wants(f"b/b{most - 1}")
        assert not walk.wants("c/c1")
        assert walk.wants("c/c2")
        assert walk.wants("d/d0")
    assert list(walk.ignoring.without_room) == [str(root / folder / ".gitignore") for folder in "cd"]
    walk.begin_anew()
    assert not walk.wants("d/d0")


def test_the_rules_of_a_folder_are_forgotten_when_the_walk_leaves_it(root: Path) -> None:
    put(root, "above/.gitignore", "above/a/.gitignore", text="first")
    walk = tree(root)
    assert not walk.wants("above/a/first")
    (root / "above" / ".gitignore").write_text("other")
    (root / "above" / "a" / ".gitignore").write_text("other")
    assert walk.wants("above/b/other")  # The walk is still in the folder above.
    assert not walk.wants("above/a/other")
    assert not walk.wants("above/b/first")
