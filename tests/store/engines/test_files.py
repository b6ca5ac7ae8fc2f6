"""A log is one stream by offset, whatever became of its segments; artifacts are files below one folder."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import msgspec
import pytest

from holdfast.core.errors import InvalidInput, NotFound, StoreUnavailable
from holdfast.core.messages.runs import Artifact
from holdfast.store.files import Excerpt, JobFiles, encode_artifacts, folder_name, job_of, segment_name
from tests.daemon.house import short_folder

JOB, RUN = "0190b6a0-0000-7000-8000-000000000001", "0190b6a0-0000-7000-8000-000000000002"


@pytest.fixture
def files(tmp_path: Path) -> JobFiles:
    return JobFiles(tmp_path / "files")


def lay(files: JobFiles, *segments: tuple[int, bytes]) -> None:
    folder = files.make(files.log_of(JOB, RUN))
    for start, data in segments:
        (folder / segment_name(start)).write_bytes(data)


def test_a_log_is_read_across_its_segments(files: JobFiles) -> None:
    lay(files, (0, b"abc"), (3, b"def"), (6, b"g"))
    assert files.read(JOB, RUN) == Excerpt(0, b"abcdefg", 7)
    assert files.read(JOB, RUN, 2, 3) == Excerpt(2, b"cde", 7)
    assert files.read(JOB, RUN, 3, 3) == Excerpt(3, b"def", 7)


def test_a_piece_says_where_it_really_begins(files: JobFiles) -> None:
    lay(files, (10, b"abc"))
    assert files.read(JOB, RUN, 0, 100) == Excerpt(10, b"abc", 13)
    assert files.read(JOB, RUN, 99, 100) == Excerpt(13, b"", 13)


def test_there_need_not_be_a_log(files: JobFiles) -> None:
    assert files.read(JOB, RUN, 5, 100) == Excerpt(0, b"", 0)
    assert files.tail(JOB, RUN, 5) == Excerpt(0, b"", 0)
    assert files.artifacts(JOB) == []


def test_bytes_that_are_missing_in_the_middle_do_not_shift_the_others(files: JobFiles) -> None:
    lay(files, (0, b"ab"), (5, b"fgh"))
    assert files.read(JOB, RUN, 0, 100) == Excerpt(0, b"ab", 8)
    assert files.read(JOB, RUN, 2, 100) == Excerpt(5, b"fgh", 8)


@pytest.mark.parametrize(
    ("text", "lines", "tail"),
    [
        (b"a\nb\nc\n", 2, b"b\nc\n"),
        (b"a\nb\nc", 2, b"b\nc"),
        (b"a\nb\n", 9, b"a\nb\n"),
        (b"a\n\n", 1, b"\n"),
        (b"a\nb\n", 0, b""),
        (b"", 3, b""),
    ],
)
def test_a_tail_is_the_last_lines(files: JobFiles, text: bytes, lines: int, tail: bytes) -> None:
    middle = len(text) // 2
    lay(files, (0, text[:middle]), (middle, text[middle:]))
    assert files.tail(JOB, RUN, lines) == Excerpt(len(text) - len(tail), tail, len(text))


def test_artifacts_are_listed_by_name_with_their_sizes(files: JobFiles) -> None:
    files.artifact(JOB, "plots/b.png").write_bytes(b"12345")
    files.artifact(JOB, "a.txt").write_bytes(b"")
    assert files.artifacts(JOB) == [Artifact("a.txt", 0), Artifact("plots/b.png", 5)]
    with files.open_artifact(JOB, "plots/b.png") as file:
        assert file.read() == b"12345"


def test_a_list_that_is_too_long_to_be_stored_says_that_it_was_cut() -> None:
    artifacts = [Artifact(f"{number:04}", 0) for number in range(100)]
    assert msgspec.json.decode(encode_artifacts(artifacts, 1 << 20), type=list[Artifact]) == artifacts
    data = encode_artifacts(artifacts, 1_000)
    assert len(data) <= 1_000
    *kept, last = msgspec.json.decode(data, type=list[Artifact])
    assert kept == artifacts[: len(kept)]
    assert last == Artifact(f"{len(kept):04}", 0, more=True)
    assert encode_artifacts(artifacts, 2) == b"[]"


BAD_NAMES = ["", ".", "..", "/etc/passwd", "../x", "a/../../x", "a//b", "a/", "a\0b", "a\nb", "x" * 251, "\ud800", 5]


@pytest.mark.parametrize("name", BAD_NAMES, ids=repr)
def test_a_name_that_leaves_the_folder_is_refused(files: JobFiles, name: str) -> None:
    with pytest.raises(InvalidInput, match="artifact"):
        files.artifact(JOB, name)
    with pytest.raises(InvalidInput, match="artifact"):
        files.open_artifact(JOB, name)


@pytest.mark.parametrize("link", ["file", "folder/secret.txt"])
def test_a_link_is_neither_listed_nor_opened_nor_written_through(files: JobFiles, tmp_path: Path, link: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.txt").write_text("secret")
    folder = files.make(files.artifacts_of(JOB))
    (folder / "file").symlink_to(outside / "secret.txt")
    (folder / "folder").symlink_to(outside)
    assert files.artifacts(JOB) == []
    with pytest.raises(NotFound):
        files.open_artifact(JOB, link)
    with pytest.raises(InvalidInput, match="link"):
        files.artifact(JOB, link)


@pytest.mark.parametrize("level", ["job", "artifacts"])
def test_no_folder_above_may_be_a_link_either(files: JobFiles, tmp_path: Path, level: str) -> None:
    outside = tmp_path / "outside"
    (outside / "artifacts").mkdir(parents=True)
    (outside / "artifacts" / "secret.txt").write_text("secret")
    files.make(files.folder)
    if level == "job":
        files.of_job(JOB).symlink_to(outside)
    else:
        files.make(files.of_job(JOB))
        files.artifacts_of(JOB).symlink_to(outside / "artifacts")
    assert files.artifacts(JOB) == []
    with pytest.raises(NotFound):
        files.open_artifact(JOB, "secret.txt")


@pytest.mark.parametrize("start", [0, 3, 90], ids=["first", "in the middle", "last"])
@pytest.mark.parametrize("what", ["nowhere", "elsewhere", "pipe", "folder", "socket"])
def test_what_is_no_file_is_no_part_of_a_log(files: JobFiles, tmp_path: Path, what: str, start: int) -> None:
    lay(files, (1, b"ab"), (6, b"gh"))
    planted = files.log_of(JOB, RUN) / segment_name(start)
    (tmp_path / "secret.txt").write_bytes(b"secret")
    with socket.socket(socket.AF_UNIX) as door:
        match what:
            case "nowhere":
                planted.symlink_to(tmp_path / "nowhere")
            case "elsewhere":
                planted.symlink_to(tmp_path / "secret.txt")
            case "pipe":
                os.mkfifo(planted)
            case "folder":
                planted.mkdir()
            case "socket":
                with short_folder() as short:
                    (short / "log").symlink_to(planted.parent)
                    door.bind(str(short / "log" / planted.name))
        assert files.read(JOB, RUN, 0, 100) == Excerpt(1, b"ab", 8)
        assert files.read(JOB, RUN, 3, 100) == Excerpt(6, b"gh", 8)
        assert files.tail(JOB, RUN, 5) == Excerpt(1, b"ab", 8)


@pytest.mark.parametrize("level", ["job", "runs", "run"])
def test_a_log_is_not_read_or_written_through_a_link(files: JobFiles, tmp_path: Path, level: str) -> None:
    outside = tmp_path / "outside"
    inside = {"job": files.of_job(JOB), "runs": files.of_job(JOB) / "runs", "run": files.log_of(JOB, RUN)}[level]
    below = outside / files.log_of(JOB, RUN).relative_to(inside)
    below.mkdir(parents=True)
    (below / segment_name(0)).write_bytes(b"secret")
    files.make(inside.parent)
    inside.symlink_to(outside)
    assert files.read(JOB, RUN) == Excerpt(0, b"", 0)
    with pytest.raises(StoreUnavailable, match="is a link"):
        files.make(files.log_of(JOB, RUN))


def test_what_is_not_a_file_cannot_be_opened(files: JobFiles) -> None:
    files.artifact(JOB, "folder/file")
    os.mkfifo(files.artifact(JOB, "pipe"))
    for name in ("folder", "pipe", "nothing"):
        with pytest.raises(NotFound, match=name):
            files.open_artifact(JOB, name)
    assert files.artifacts(JOB) == []


@pytest.mark.parametrize("id_", [JOB, "a", "..", "../../etc", "a/b", "%41", "ä", "\ud800", ".hidden"])
def test_every_id_has_a_folder_of_its_own_and_back(files: JobFiles, id_: str) -> None:
    name = folder_name(id_)
    assert job_of(name) == id_
    assert "/" not in name
    assert not name.startswith(".")


def test_a_job_is_forgotten_with_all_its_files_and_nothing_else(files: JobFiles, tmp_path: Path) -> None:
    outside = tmp_path / "outside.txt"
    outside.write_text("stays")
    lay(files, (0, b"x"))
    files.artifact(JOB, "a").write_text("x")
    (files.artifacts_of(JOB) / "link").symlink_to(outside)
    files.artifact("other", "a").write_text("x")
    files.forget(JOB)
    assert files.jobs() == ["other"]
    assert outside.read_text() == "stays"


def test_folders_are_for_nobody_else(files: JobFiles) -> None:
    path = files.artifact(JOB, "a")
    assert [folder.stat().st_mode & 0o077 for folder in (files.folder, path.parent)] == [0, 0]
