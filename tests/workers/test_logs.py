"""What a run says is kept up to a size; a reader never sees anything but the bytes that were written."""

from __future__ import annotations

import logging
import os
import random
import shutil
import threading
from pathlib import Path

import pytest

from holdfast.store.files import JobFiles, segment_name, segments_of
from holdfast.tasks.files import FilesLeft, LogLimits, LogWriter, RunFiles

JOB, RUN = "job", "run"
LINE = 16


@pytest.fixture
def files(tmp_path: Path) -> JobFiles:
    return JobFiles(tmp_path / "files")


def writer(files: JobFiles, segment_bytes: int, max_bytes: int) -> LogWriter:
    return LogWriter(files.make(files.log_of(JOB, RUN)), LogLimits(segment_bytes, max_bytes))


def numbered(start: int, end: int) -> bytes:
    """The bytes of a stream of lines that hold their own numbers."""
    first, last = start // LINE, -(-end // LINE)
    return b"".join(b"%015d\n" % number for number in range(first, last))[start - first * LINE : end - first * LINE]


def test_the_oldest_segments_go_and_offsets_stay(files: JobFiles) -> None:
    log = writer(files, 100, 350)
    log.write(numbered(0, 1_000))
    assert [segment.start for segment in segments_of(files.log_of(JOB, RUN))] == [700, 800, 900]
    found = files.read(JOB, RUN, 0, 10_000)
    assert (found.offset, found.data, found.end) == (700, numbered(700, 1_000), 1_000)


def test_a_writer_goes_on_behind_what_is_there(files: JobFiles) -> None:
    writer(files, 100, 1_000).write(b"abc")
    again = writer(files, 100, 1_000)
    again.write(b"def")
    again.close()
    again.write(b"ghi")
    assert files.read(JOB, RUN).data == b"abcdefghi"


@pytest.mark.parametrize("what", ["link", "pipe"])
def test_a_writer_neither_follows_a_link_nor_waits_for_a_pipe(
    files: JobFiles, tmp_path: Path, what: str, caplog: pytest.LogCaptureFixture
) -> None:
    log = writer(files, 3, 1_000)
    planted = files.log_of(JOB, RUN) / segment_name(3)
    planted.symlink_to(tmp_path / "elsewhere") if what == "link" else os.mkfifo(planted)
    log.write(b"abcdef")
    assert "output is lost" in caplog.text
    assert not (tmp_path / "elsewhere").exists()
    planted.unlink()
    log.write(b"ghi")
    assert files.read(JOB, RUN).data.startswith(b"abc\n[holdfast: 3 bytes of output were lost here]\n")


def test_a_reader_never_sees_a_torn_state_while_the_writer_rotates(files: JobFiles) -> None:
    log, total, dice = writer(files, 1_000, 5_000), 400_000, random.Random(1)
    done = threading.Event()

    def write() -> None:
        at = 0
        while at < total:
            step = dice.randrange(1, 2_500)
            log.write(numbered(at, at + step))
            at += step
        done.set()

    thread = threading.Thread(target=write)
    thread.start()
    seen, last_end, looked = 0, 0, random.Random(2)
    while not done.is_set() or not seen:
        offset = max(0, last_end - looked.randrange(-1_000, 8_000))
        found = files.read(JOB, RUN, offset, looked.randrange(1, 4_000))
        assert found.data == numbered(found.offset, found.offset + len(found.data))
        assert found.end >= last_end
        last_end, seen = found.end, seen + len(found.data)
    thread.join()


def test_output_that_cannot_be_written_is_counted_and_the_rest_goes_on(
    files: JobFiles, caplog: pytest.LogCaptureFixture
) -> None:
    log = writer(files, 10, 1_000)
    log.write(b"0123456789")
    folder = files.log_of(JOB, RUN)
    shutil.move(folder, folder.with_name("away"))
    log.write(b"lost")
    log.write(b"lost too")
    shutil.move(folder.with_name("away"), folder)
    log.write(b"back")
    assert files.read(JOB, RUN).data == b"0123456789\n[holdfast: 12 bytes of output were lost here]\nback"
    assert [record.levelno for record in caplog.records] == [logging.WARNING]


def test_nothing_is_made_for_a_run_that_says_nothing(files: JobFiles) -> None:
    assert RunFiles(files, JOB, RUN).close() == FilesLeft()
    assert not files.folder.exists()


def test_a_line_of_a_task_tells_when_and_how_serious(files: JobFiles) -> None:
    RunFiles(files, JOB, RUN).say(1_700_000_000_123, logging.WARNING, "mind the gap\ud800")
    assert files.read(JOB, RUN).data == b"2023-11-14T22:13:20.123Z WARNING mind the gap\\ud800\n"
