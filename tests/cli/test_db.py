"""The database from the command line: copies, checks, migrations, room."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from holdfast import Holdfast
from holdfast.runtime.clock import SystemClock
from holdfast.store.sqlite.engine import SqliteEngine
from tests.chaos.processes import until
from tests.cli.shell import Shell


@pytest.fixture
def quiet(empty: Shell) -> Shell:
    """A home with three jobs, and no daemon."""
    empty.home.create()
    hf = Holdfast(empty.home.database)
    for number in range(3):
        hf.enqueue("task", {"number": number})
    hf.close()
    return empty


def counted(sh: Shell) -> int:
    hf = Holdfast(sh.home.database)
    try:
        return sum(sum(states.values()) for states in hf.counts().values())
    finally:
        hf.close()


def test_a_backup_is_made_while_the_daemon_works(sh: Shell, tmp_path: Path) -> None:
    job = sh.number("enqueue", "double", '{"x": 1}', "--delay", "1h")
    copy = tmp_path / "copy.db"
    assert sh.ok("db", "backup", copy, "--json").json == {"file": str(copy), "bytes": copy.stat().st_size}
    hf = Holdfast(copy)
    assert (hf.job(job).state, hf.doctor()) == ("SCHEDULED", [])
    hf.close()
    assert copy.stat().st_mode & 0o077 == 0


def test_a_backup_replaces_a_file_only_if_it_is_told_to(quiet: Shell, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    copy.write_text("mine")
    said = quiet("db", "backup", copy)
    assert (said.code, copy.read_text()) == (2, "mine")
    assert "--force" in said.err
    quiet.ok("db", "backup", copy, "--force")
    assert [path.name for path in tmp_path.iterdir()] == ["copy.db"]


@pytest.mark.parametrize("target", ["nowhere/copy.db", "."])
def test_a_backup_needs_a_place(quiet: Shell, tmp_path: Path, target: str) -> None:
    assert quiet("db", "backup", tmp_path / target).code == 2


def test_a_backup_onto_the_database_itself_is_refused(quiet: Shell) -> None:
    said = quiet("db", "backup", quiet.home.database, "--force")
    assert (said.code, "is the database itself" in said.err) == (2, True)


def test_a_damaged_database_has_no_backup(quiet: Shell, tmp_path: Path) -> None:
    damage(quiet.home.database)
    said = quiet("db", "backup", tmp_path / "copy.db")
    assert said.code == 1
    assert "damaged" in said.err
    assert list(tmp_path.iterdir()) == []


def damage(path: Path) -> None:
    with closing(apsw.Connection(str(path))) as connection:
        connection.pragma("journal_mode", "delete")
    with path.open("r+b") as file:
        for page in range(3, 40):
            file.seek(page * 4096)
            file.write(os.urandom(64))


def test_a_restore_puts_the_copy_in_place_and_keeps_what_was_there(quiet: Shell, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    quiet.ok("db", "backup", copy)
    hf = Holdfast(quiet.home.database)
    hf.enqueue("task", {"number": 3})
    hf.close()
    assert counted(quiet) == 4
    done = quiet.ok("db", "restore", copy, "--yes", "--json").json
    assert counted(quiet) == 3
    assert done["path"] == str(quiet.home.database)
    with closing(apsw.Connection(done["aside"])) as old:
        assert old.execute("SELECT count(*) FROM jobs").fetchone() == (4,)


def test_a_restore_into_an_empty_home_needs_nothing_else(quiet: Shell, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    quiet.ok("db", "backup", copy)
    for path in quiet.home.folder.glob("meta.db*"):
        path.unlink() if path.is_file() else None
    assert quiet.ok("db", "restore", copy, "--yes", "--json").json["aside"] is None
    assert counted(quiet) == 3


def test_a_restore_is_refused_while_the_daemon_lives(sh: Shell, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    sh.ok("db", "backup", copy)
    said = sh("db", "restore", copy, "--yes")
    assert said.code == 1
    assert "stop it first: holdfast down" in said.err


def test_a_restore_is_refused_while_another_program_works_there(quiet: Shell, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    quiet.ok("db", "backup", copy)
    with Holdfast(quiet.home.database):
        said = quiet("db", "restore", copy, "--yes")
    assert said.code == 1
    assert "1 programs work with" in said.err


@pytest.mark.parametrize("text", ["", "not a database at all " * 300])
def test_what_is_no_backup_is_not_restored(quiet: Shell, tmp_path: Path, text: str) -> None:
    (tmp_path / "letter").write_text(text)
    assert quiet("db", "restore", tmp_path / "letter", "--yes").code in (1, 2)
    assert counted(quiet) == 3


def test_a_restore_asks_first(quiet: Shell, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    quiet.ok("db", "backup", copy)
    assert quiet("db", "restore", copy).code == 2
    terminal = quiet.terminal("db", "restore", copy)
    terminal.wait_for("[y/N]:")
    terminal.type("\n")
    assert terminal.end() == 1


def test_a_check_with_and_without_a_daemon_finds_nothing(sh: Shell, quiet: Shell) -> None:
    for shell in (sh, quiet):
        assert "every invariant holds" in shell.ok("db", "check").out
        assert shell.ok("db", "check", "--json").json == []


def test_a_check_finds_damage(quiet: Shell) -> None:
    damage(quiet.home.database)
    said = quiet("db", "check")
    assert said.code == 1
    # Which page is hit decides who notices.
    assert "meta.db is damaged" in said.out + said.err
    assert "restore it from a backup" in said.out + said.err


def test_a_check_finds_a_row_that_must_never_be(quiet: Shell) -> None:
    with closing(apsw.Connection(str(quiet.home.database))) as connection:
        connection.execute("UPDATE queue_counts SET jobs = jobs + 1")
    said = quiet("db", "check")
    assert said.code == 1
    assert "✗ " in said.out


def test_a_migration_tells_from_where_to_where_and_keeps_a_copy(empty: Shell) -> None:
    empty.home.create()
    old = SqliteEngine(empty.home.database, now=SystemClock().now, migrate_to=3)
    old.open()
    old.close()
    done = empty.ok("db", "migrate", "--json").json
    assert (done["from"], done["to"] > 3, Path(done["copy"]).exists()) == (3, True, True)
    assert "which is the newest" in empty.ok("db", "migrate").out


def test_a_check_asks_for_a_migration_first(empty: Shell) -> None:
    empty.home.create()
    old = SqliteEngine(empty.home.database, now=SystemClock().now, migrate_to=3)
    old.open()
    old.close()
    said = empty("db", "check")
    assert (said.code, "first: holdfast db migrate" in said.err) == (1, True)


def test_room_is_given_back_when_nobody_uses_the_file(quiet: Shell) -> None:
    with closing(apsw.Connection(str(quiet.home.database))) as connection:
        connection.execute("CREATE TABLE ballast AS SELECT randomblob(4000000) AS data; DROP TABLE ballast")
    done = quiet.ok("db", "compact", "--json").json
    assert done["is_whole"]
    assert done["before"]["file"] - done["after"]["file"] > 3_900_000
    assert counted(quiet) == 3


def test_while_the_daemon_works_only_its_log_is_emptied(sh: Shell) -> None:
    sh.number("enqueue", "double", '{"x": 1}', "--delay", "1h")

    def has_emptied_it() -> bool:
        done = sh.ok("db", "compact", "--json").json
        assert not done["is_whole"]
        return bool(done["after"]["wal"] == 0)

    until(has_emptied_it, "it looks before the daemon writes the next line")


def test_the_path_of_the_database_is_told(sh: Shell, quiet: Shell) -> None:
    assert sh.ok("db", "path").out == f"{sh.home.database}\n"
    assert quiet.ok("db", "path").out == f"{quiet.home.database}\n"


def test_with_postgresql_its_own_tools_are_named(empty: Shell, postgres_url: str, postgres_schema: str) -> None:
    empty.home.create()
    empty.home.settings.write_text(f'[daemon]\nstore = "{postgres_url}"\nschema = "{postgres_schema}"\n')
    for words in (("backup", "x.db"), ("restore", "x.db", "--yes"), ("compact",), ("migrate",)):
        said = empty("db", *words)
        assert (said.code, "pg_dump" in said.err) == (2, True)
    assert "every invariant holds" in empty.ok("db", "check").out
    empty.ok("up", "-d")
    assert f"schema {postgres_schema}" in empty.ok("db", "path").out
    assert "pg_dump" in empty("db", "backup", "x.db").err
    assert "every invariant holds" in empty.ok("db", "check").out
    assert empty.ok("run", "--wait", "--", "echo", "hello").out == "hello\n"
    empty.ok("down")
