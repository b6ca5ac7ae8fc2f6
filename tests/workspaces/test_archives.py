"""What every store of archives must do, tried on a folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from holdfast.core.workspaces.conditions import ConditionReason
from holdfast.workspaces.archive.archives import StoredArchives
from holdfast.workspaces.archive.protocol import ArchiveAway, ArchiveLost, Archives
from holdfast.workspaces.backends.protocols import BackendFailed
from tests.workspaces.test_packing import go_on, known

KEY = "w1/op1/run1/home.tar.zst"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "archives"
    path.mkdir()
    return path


@pytest.fixture
def archives(folder: Path) -> Archives:
    return StoredArchives(folder)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    path = tmp_path / "home"
    (path / "folder").mkdir(parents=True)
    (path / "folder" / "file").write_bytes(b"hello" * 100_000)
    return path


@pytest.fixture
def new(tmp_path: Path) -> Path:
    path = tmp_path / "new"
    path.mkdir()
    return path


def test_a_home_comes_back_as_it_was(archives: Archives, home: Path, new: Path, folder: Path) -> None:
    meta = archives.put(KEY, home, go_on, is_first=True)
    assert archives.put(KEY, home, go_on, is_first=False) == meta
    assert (meta.home.entries, meta.home.bytes, meta.size) == (3, 500_000, (folder / KEY).stat().st_size)
    for path in (folder / KEY, folder / f"{KEY}.meta"):
        assert path.stat().st_mode & 0o777 == 0o600
        assert path.parent.stat().st_mode & 0o777 == 0o700
    seen = archives.look(KEY)
    assert (seen.status, seen.reason) == (True, ConditionReason.ARCHIVE_UPLOADED)
    archives.get(KEY, new, go_on)
    assert known(new) == known(home)


def test_one_that_is_not_there_is_lost(archives: Archives, home: Path, new: Path, folder: Path) -> None:
    archives.put(KEY, home, go_on, is_first=True)
    (folder / f"{KEY}.meta").unlink()
    for key in (KEY, "w1/op2/run1/home.tar.zst"):
        assert archives.look(key).reason is ConditionReason.ARCHIVE_NOT_FOUND
        with pytest.raises(ArchiveLost, match="is not there"):
            archives.get(key, new, go_on)


@pytest.mark.parametrize(
    "break_it",
    [
        lambda data: data[:-10],
        lambda data: data[:50] + bytes([data[50] ^ 1]) + data[51:],
        lambda data: data + b"x",
        lambda data: b"",
    ],
)
def test_one_that_is_broken_is_lost(
    archives: Archives, home: Path, new: Path, folder: Path, break_it: Callable[[bytes], bytes]
) -> None:
    archives.put(KEY, home, go_on, is_first=True)
    path = folder / KEY
    path.write_bytes(break_it(path.read_bytes()))
    with pytest.raises(ArchiveLost) as told:
        archives.get(KEY, new, go_on)
    assert told.value.reason is ConditionReason.ARCHIVE_CORRUPTED


def test_a_store_that_is_away_is_not_empty(archives: Archives, home: Path, new: Path, folder: Path) -> None:
    archives.put(KEY, home, go_on, is_first=True)
    folder.rename(folder.with_name("elsewhere"))
    folder.mkdir()
    assert archives.look(KEY).reason is ConditionReason.ARCHIVE_UNREACHABLE
    with pytest.raises(ArchiveAway, match="is its disk mounted"):
        archives.get(KEY, new, go_on)
    with pytest.raises(ArchiveAway):
        archives.put(KEY, home, go_on, is_first=False)
    folder.rmdir()
    folder.with_name("elsewhere").rename(folder)
    assert archives.look(KEY).status


def test_a_home_that_changes_meanwhile_leaves_no_archive(archives: Archives, home: Path) -> None:
    asked = iter(range(10**6))

    def check() -> None:
        if next(asked) == 3:
            (home / "folder" / "another").touch()

    with pytest.raises(BackendFailed, match="has changed while it was read"):
        archives.put(KEY, home, check, is_first=True)
    assert not archives.look(KEY).status
