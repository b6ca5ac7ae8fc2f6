"""Files that cannot be a database: a clear error that names the file, and the file as it was."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from holdfast.core.errors import StoreCorrupt, StoreUnavailable
from holdfast.store.scripts.maintenance import doctor
from holdfast.store.sqlite.engine import SqliteEngine
from tests.faults.crash_image import read_image, write_image
from tests.faults.story import NOW, WHOLE, Rows, Story, every_row, states_of

PAGE = 4096


@pytest.fixture
def told(tmp_path: Path) -> tuple[Path, Rows]:
    """A database after a whole story, closed, and its rows."""
    path = tmp_path / "told.db"
    return path, states_of(WHOLE, path)[-1]


def write_and_read_fail(path: Path, kind: type[StoreUnavailable], says: str) -> None:
    engine = SqliteEngine(path, now=lambda: NOW)
    for use in (lambda: engine.submit(lambda tx: None).result(), lambda: engine.query(every_row)):
        with pytest.raises(kind, match=says) as caught:
            use()
        assert str(path) in str(caught.value)
    engine.close()


def test_a_folder_is_not_a_database(tmp_path: Path) -> None:
    write_and_read_fail(tmp_path, StoreUnavailable, "give the path of a database file in it")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_does_not_exist_is_not_made(tmp_path: Path) -> None:
    engine = SqliteEngine(tmp_path / "missing" / "work.db", now=lambda: NOW)
    with pytest.raises(StoreUnavailable, match=r"missing does not exist; create it first"):
        engine.query(every_row)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("contents", [b"short", b"a letter to a friend\n" * 500, bytes(range(256)) * 40])
def test_a_file_that_is_something_else_is_left_alone(contents: bytes, tmp_path: Path) -> None:
    path = tmp_path / "letter.txt"
    path.write_bytes(contents)
    write_and_read_fail(path, StoreCorrupt, "damaged or not a database.*; restore it from a backup")
    assert path.read_bytes() == contents
    assert not Path(f"{path}-wal").exists()


def test_an_empty_file_becomes_a_database(tmp_path: Path) -> None:
    path = tmp_path / "empty.db"
    path.touch()
    engine = Story().engine(path)
    assert engine.query(every_row)["jobs"] == []
    engine.close()


@pytest.mark.parametrize("share", [0.02, 0.3, 0.6, 0.99])
def test_a_database_that_was_cut_short_is_found_out(share: float, told: tuple[Path, Rows], tmp_path: Path) -> None:
    image = read_image(told[0])
    assert_damage_is_said(image[""][: int(len(image[""]) * share)], tmp_path / "short.db")


def test_every_page_of_rubbish_is_found_out(told: tuple[Path, Rows], tmp_path: Path) -> None:
    data = read_image(told[0])[""]
    random = Random(1)
    for number in range(len(data) // PAGE):
        place = slice(number * PAGE, (number + 1) * PAGE)
        broken = bytearray(data)
        broken[place] = random.randbytes(PAGE)
        assert_damage_is_said(bytes(broken), tmp_path / f"page-{number}.db")


def assert_damage_is_said(data: bytes, path: Path) -> None:
    engine = Story().engine(write_image({"": data}, path))
    try:
        assert doctor.examine(engine) != [], f"{path} is damaged, and nobody said so"
    except StoreCorrupt as error:
        said = str(error)
    else:
        said = str(path)
    finally:
        engine.close()
    assert str(path) in said
    assert path.read_bytes() == data


def test_a_log_of_rubbish_beside_the_database_is_ignored(told: tuple[Path, Rows]) -> None:
    path, rows = told
    Path(f"{path}-wal").write_bytes(Random(1).randbytes(50_000))
    engine = Story().engine(path)
    assert engine.query(every_row) == rows
    assert doctor.examine(engine) == []
    engine.close()


def test_locks_that_are_no_folder_are_named(told: tuple[Path, Rows], tmp_path: Path) -> None:
    path = write_image(read_image(told[0]), tmp_path / "other.db")
    Path(f"{path}-locks").write_text("in the way")
    write_and_read_fail(path, StoreUnavailable, r"other\.db-locks cannot be used")
    assert read_image(path) == read_image(told[0])
