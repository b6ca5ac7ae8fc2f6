"""A home becomes a stream and a home again: the same in all that a file system knows; what is hostile is refused."""

from __future__ import annotations

import io
import os
import socket
import stat
import tarfile
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.workspaces.archive.packing import ChangedMeanwhile, PackedHome, pack
from holdfast.workspaces.archive.unpacking import BadArchive, unpack


def go_on() -> None:
    """Nobody asks it to stop."""


def packed(home: Path) -> bytes:
    sink = io.BytesIO()
    pack(home, sink, go_on)
    return sink.getvalue()


def known(home: Path) -> dict[bytes, tuple[Any, ...]]:
    """All that matters of a tree, by name."""
    found: dict[bytes, tuple[Any, ...]] = {}
    top = os.fsencode(home)
    for folder, _, files in os.walk(top):
        for name in [b".", *files, *(one for one in os.listdir(folder) if os.path.islink(os.path.join(folder, one)))]:
            path = os.path.normpath(os.path.join(folder, name))
            found[os.path.relpath(path, top)] = _about(path)
    return found


def _about(path: bytes) -> tuple[Any, ...]:
    seen = os.lstat(path)
    content: bytes | None = None
    if stat.S_ISREG(seen.st_mode):
        content = Path(os.fsdecode(path)).read_bytes()
    elif stat.S_ISLNK(seen.st_mode):
        content = os.readlink(path)
    xattrs = {key: os.getxattr(path, key, follow_symlinks=False) for key in os.listxattr(path, follow_symlinks=False)}
    links = seen.st_nlink if stat.S_ISREG(seen.st_mode) else 0
    return seen.st_mode, seen.st_uid, seen.st_gid, seen.st_mtime_ns, content, xattrs, links


@pytest.fixture
def home(tmp_path: Path) -> Path:
    path = tmp_path / "home"
    path.mkdir()
    return path


@pytest.fixture
def new(tmp_path: Path) -> Path:
    path = tmp_path / "new"
    path.mkdir()
    return path


def test_all_kinds_of_files_come_back_as_they_were(home: Path, new: Path) -> None:
    (home / "file").write_bytes(b"hello" * 1_000)
    (home / "empty").touch()
    (home / "folder" / "deep").mkdir(parents=True)
    (home / "bare").mkdir(mode=0o711)
    os.link(home / "file", home / "folder" / "same")
    os.symlink("../nowhere", home / "folder" / "broken")
    os.symlink("/usr/bin/env", home / "out")
    os.mkfifo(home / "pipe", 0o640)
    (home / "run").write_text("#!/bin/sh\n")
    (home / "run").chmod(0o6755)
    (home / "closed").write_text("x")
    (home / "closed").chmod(0)
    Path(os.fsdecode(os.fsencode(home) + b"/no \xff utf-8 \n")).write_text("y")
    (home / ("long" * 60)).write_text("z")
    os.utime(home / "file", ns=(1, 1_234_567_890_123_456_789))
    os.utime(home / "folder", ns=(1, 987_654_321_000_000_001))
    os.utime(home / "out", ns=(1, 5_000_000_001), follow_symlinks=False)
    with suppress_unsupported():
        os.setxattr(home / "file", "user.colour", b"\x00\xff=red\n")
    assert unpack(io.BytesIO(packed(home)), new, go_on) == 14
    assert known(new) == known(home)


class suppress_unsupported:
    """For file systems without extended attributes of users."""

    def __enter__(self) -> None: ...

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> bool:
        return isinstance(error, OSError)


def test_holes_are_not_stored_and_come_back(home: Path, new: Path) -> None:
    for name, parts, size in (
        ("middle", {0: b"a" * 5_000, 9_000_000: b"b" * 5_000}, None),
        ("end", {4_096: b"c"}, 8_000_000),
        ("all", {}, 5_000_000),
    ):
        with (home / name).open("wb") as file:
            for start, data in parts.items():
                file.seek(start)
                file.write(data)
            if size is not None:
                file.truncate(size)
    stream = packed(home)
    assert len(stream) < 200_000
    unpack(io.BytesIO(stream), new, go_on)
    assert known(new) == known(home)
    assert sum(path.stat().st_blocks for path in new.iterdir()) < 1_000


def test_other_programs_read_it(home: Path, new: Path) -> None:
    (home / "file").write_bytes(b"hello")
    with (home / "hole").open("wb") as file:
        file.seek(1 << 20)
        file.write(b"x")
    with tarfile.open(fileobj=io.BytesIO(packed(home))) as tar:
        tar.extractall(new, filter="tar")
    assert (new / "file").read_bytes() == b"hello"
    assert (new / "hole").read_bytes() == bytes(1 << 20) + b"x"


def test_sockets_are_left_out_and_counted(home: Path, new: Path) -> None:
    (home / "file").write_text("x")
    with socket.socket(socket.AF_UNIX) as listening:
        before = os.getcwd()
        os.chdir(home)
        try:
            listening.bind("socket")
        finally:
            os.chdir(before)
        sink = io.BytesIO()
        assert pack(home, sink, go_on) == PackedHome(2, 1, 1)
    unpack(io.BytesIO(sink.getvalue()), new, go_on)
    assert [path.name for path in new.iterdir()] == ["file"]


@pytest.mark.parametrize(
    "change",
    [
        lambda path: path.write_bytes(b"y" * 2_000_000),
        lambda path: path.write_bytes(b"x"),
        lambda path: path.open("ab").write(b"more"),
        lambda path: (path.parent / "another").touch(),
    ],
)
def test_a_home_that_changes_meanwhile_is_not_packed(home: Path, change: Callable[[Path], object]) -> None:
    path = home / "file"
    path.write_bytes(b"x" * 2_000_000)

    class Sink:
        def __init__(self) -> None:
            self.taken = 0

        def write(self, data: bytes) -> int:
            self.taken += len(data)
            if self.taken > 1_000_000:
                self.taken = -(10**9)
                change(path)
            return len(data)

    with pytest.raises(ChangedMeanwhile):
        pack(home, Sink(), go_on)


def hostile(*entries: tuple[str, bytes, dict[str, Any]]) -> bytes:
    """A stream made by hand: names, types, and what else is said of each."""
    sink = io.BytesIO()
    with tarfile.open(fileobj=sink, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name, kind, more in entries:
            info = tarfile.TarInfo(name)
            info.type = kind
            for field, value in more.items():
                setattr(info, field, value)
            tar.addfile(info, io.BytesIO(b"evil"[: info.size]))
    return sink.getvalue()


FILE = {"size": 4}
HOSTILE = [
    hostile(("/etc/evil", tarfile.REGTYPE, FILE)),
    hostile(("../evil", tarfile.REGTYPE, FILE)),
    hostile(("a/../../evil", tarfile.REGTYPE, FILE)),
    hostile(("out", tarfile.SYMTYPE, {"linkname": ".."}), ("out/evil", tarfile.REGTYPE, FILE)),
    hostile(("out", tarfile.SYMTYPE, {"linkname": "../target"}), ("out", tarfile.REGTYPE, FILE)),
    hostile(("out", tarfile.SYMTYPE, {"linkname": ".."}), ("out", tarfile.DIRTYPE, {})),
    hostile(("out", tarfile.SYMTYPE, {"linkname": ".."}), ("in", tarfile.LNKTYPE, {"linkname": "out/target"})),
    hostile(("in", tarfile.LNKTYPE, {"linkname": "../target"})),
    hostile(("in", tarfile.LNKTYPE, {"linkname": "/etc/passwd"})),
    hostile(("in", tarfile.LNKTYPE, {"linkname": "not there"})),
    hostile(("null", tarfile.CHRTYPE, {"devmajor": 1, "devminor": 3})),
    hostile(("disk", tarfile.BLKTYPE, {})),
    hostile(("twice", tarfile.REGTYPE, FILE), ("twice", tarfile.REGTYPE, FILE)),
    hostile((".", tarfile.REGTYPE, FILE)),
    hostile(("file", tarfile.REGTYPE, FILE))[:514],
    b"no tar at all" * 100,
]


@pytest.mark.parametrize("stream", HOSTILE)
def test_what_is_hostile_is_refused_and_writes_nothing_elsewhere(tmp_path: Path, new: Path, stream: bytes) -> None:
    target = tmp_path / "target"
    target.write_text("mine")
    before = target.stat()
    with pytest.raises(BadArchive):
        unpack(io.BytesIO(stream), new, go_on)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["new", "target"]
    assert (target.read_text(), target.stat().st_nlink, target.stat().st_mode) == ("mine", 1, before.st_mode)


names = (
    st.binary(min_size=1, max_size=12)
    .filter(lambda name: b"/" not in name and b"\0" not in name)
    .filter(lambda name: name not in (b".", b".."))
)
leaves = st.one_of(
    st.tuples(st.just("file"), st.binary(max_size=3_000), st.sampled_from([0o600, 0o644, 0o755, 0o400])),
    st.tuples(st.just("link"), st.binary(min_size=1, max_size=30).filter(lambda text: b"\0" not in text), st.just(0)),
    st.tuples(st.just("hole"), st.integers(1, 3_000_000), st.just(0o600)),
)
trees = st.recursive(leaves, lambda inner: st.dictionaries(names, inner, max_size=5), max_leaves=15)


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(names, trees, max_size=6), st.integers(0, 2**33 * 10**9))
def test_any_tree_comes_back(tree: dict[bytes, Any], moment: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        home, new = Path(folder, "home"), Path(folder, "new")
        home.mkdir()
        new.mkdir()
        grow(os.fsencode(home), tree, moment)
        unpack(io.BytesIO(packed(home)), new, go_on)
        assert known(new) == known(home)


def grow(folder: bytes, tree: dict[bytes, Any], moment: int) -> None:
    """Make a tree."""
    for name, what in tree.items():
        path = os.path.join(folder, name)
        match what:
            case dict():
                os.mkdir(path)
                grow(path, what, moment)
            case "file", data, mode:
                Path(os.fsdecode(path)).write_bytes(data)
                os.chmod(path, mode)
            case "hole", size, mode:
                with open(path, "wb") as file:
                    file.truncate(size)
                    file.seek(size // 2)
                    file.write(b"x")
                os.chmod(path, mode)
            case "link", target, _:
                os.symlink(target, path)
        os.utime(path, ns=(moment, moment), follow_symlinks=False)
