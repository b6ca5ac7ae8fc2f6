"""Migrations: forward one file at a time, or not at all; nothing is lost on the way."""

from __future__ import annotations

import io
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import uuid4

import apsw
import apsw.shell
import pytest

from holdfast.core.errors import SchemaMismatch, StoreError
from holdfast.store.engine import Engine
from holdfast.store.migrate import migrations
from holdfast.store.postgres.engine import PostgresEngine
from holdfast.store.scripts.events.events import emit
from holdfast.store.scripts.jobs.dead_letter_rows import name_old_letters
from holdfast.store.scripts.jobs.dead_letters import list_dead_letters
from holdfast.store.scripts.maintenance.doctor import examine
from holdfast.store.scripts.queues.queues import list_queues
from holdfast.store.scripts.schedules.templates import find_template
from holdfast.store.scripts.webhooks.deliveries import list_deliveries
from holdfast.store.sqlite.engine import SqliteEngine
from holdfast.store.statements import Dialect
from tests.store.acts import NOW, TABLES, claim_one, end, execute, let_time_pass, put_one, select, state, write
from tests.store.old_databases import EVERY, JOB, ROWS, applied, put_row

EARLIER = [migration.version for migration in migrations(Dialect.SQLITE)][:-1]


class Database:
    """A place where a database is or will be; `open` is a program that starts on it."""

    def __init__(self, dialect: Dialect, make: Callable[[int | None], Engine]) -> None:
        self.dialect = dialect
        self._make = make
        self.engines: list[Engine] = []

    def engine(self, version: int | None = None) -> Engine:
        """A program that has not used the database yet."""
        self.engines.append(self._make(version))
        return self.engines[-1]

    def open(self, version: int | None = None) -> Engine:
        """A program of that version, which has brought the database there."""
        engine = self.engine(version)
        engine.submit(lambda tx: None).result()
        return engine

    def leave(self, version: int) -> None:
        """A database as an earlier program left it."""
        self.open(version).close()


@pytest.fixture(params=list(Dialect))
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    """A database that does not exist yet."""
    if request.param is Dialect.SQLITE:
        place = Database(
            request.param, lambda version: SqliteEngine(path(tmp_path), now=lambda: NOW, migrate_to=version)
        )
    else:
        url, schema = request.getfixturevalue("postgres_url"), f"t_{uuid4().hex}"
        place = Database(
            request.param, lambda version: PostgresEngine(url, schema=schema, now=lambda: NOW, migrate_to=version)
        )
    yield place
    for engine in place.engines:
        engine.close()


def path(folder: Path) -> Path:
    return folder / "work.db"


def test_a_new_database_has_every_migration(database: Database) -> None:
    engine = database.open()
    rows = select(engine, "SELECT version, name, sha256, applied_at FROM schema_version ORDER BY version")
    assert rows == [
        {"version": migration.version, "name": migration.name, "sha256": migration.sha256, "applied_at": NOW}
        for migration in migrations(database.dialect)
    ]


def test_the_first_four_are_the_phases_of_the_spec() -> None:
    names = {dialect: [migration.name for migration in migrations(dialect)] for dialect in Dialect}
    assert names[Dialect.SQLITE] == names[Dialect.POSTGRES]
    assert names[Dialect.SQLITE][:4] == [
        "001_initial_schema",
        "002_execution_retry",
        "003_conditions",
        "004_grouping_ux",
    ]


@pytest.mark.parametrize("version", EARLIER)
def test_a_program_can_stop_at_an_earlier_version(database: Database, version: int) -> None:
    wanted = [migration.name for migration in migrations(database.dialect) if migration.version <= version]
    assert applied(database.open(version)) == wanted


def test_the_dump_of_the_tests_knows_every_table(database: Database) -> None:
    engine = database.open()
    listed = {
        Dialect.SQLITE: "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'",
        Dialect.POSTGRES: "SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema()",
    }
    assert {row["name"] for row in select(engine, listed[database.dialect])} == {*TABLES, "schema_version"}


# Columns that a later migration put something else in the place of.
REPLACED = {"class", "resources"}


@pytest.mark.parametrize("version", EARLIER)
def test_an_earlier_database_keeps_its_rows(database: Database, version: int) -> None:
    old = database.open(version)
    for text in ROWS:
        execute(old, text)
    tables = ("sessions", "queues", "subjects", "jobs", "job_runs", "queue_counts")
    before = {table: select(old, f"SELECT * FROM {table}") for table in tables}
    old.close()
    new = database.open()
    for table, rows in before.items():
        after = select(new, f"SELECT * FROM {table}")
        kept = [{name: value for name, value in row.items() if name not in REPLACED} for row in rows]
        assert [{name: row[name] for name in kept[0]} for row in after] == kept
    assert examine(new) == []


def test_queues_that_nobody_called_heavy_are_normal_ones_now(database: Database) -> None:
    old = database.open(14)
    execute(old, "INSERT INTO queues (name, class) VALUES ('index', 'heavy'), ('mail', 'light')")
    old.close()
    rows = select(database.open(), "SELECT name, burden FROM queues ORDER BY name")
    assert [(row["name"], row["burden"]) for row in rows] == [("index", "heavy"), ("mail", "normal")]


def test_a_migrated_database_can_be_worked_with(database: Database) -> None:
    old = database.open(1)
    for text in ROWS[:4]:
        execute(old, text)
    old.close()
    engine = database.open()
    end(engine, claim_one(engine))
    put_one(engine, "new", subject="s")
    assert (state(engine, "ready"), examine(engine)) == ("DONE", [])
    assert select(engine, "SELECT generation FROM jobs WHERE id = 'new'") == [{"generation": 6}]


def test_workers_that_were_there_are_known_without_a_moment_of_their_own(database: Database) -> None:
    old = database.open(24)
    execute(old, ROWS[0])
    execute(
        old,
        "INSERT INTO workers (id, session_id, name, tasks, queues, slots, connected_at, seen_at)"
        " VALUES ('w', 's1', 'one', '[]', '[]', 1, 1, 2)",
    )
    old.close()
    [row] = select(database.open(), "SELECT * FROM workers")
    assert (row["id"], row["session_id"], row["connected_at"], "seen_at" in row) == ("w", "s1", 1, False)


def test_machines_that_were_known_by_name_alone_are_known_still(database: Database) -> None:
    old = database.open(17)
    execute(old, ROWS[0])
    execute(
        old,
        "INSERT INTO node_tokens (node, cpu, gpu, io, timeout_ms, set_by, set_at) VALUES ('m', 1, 1, 1, 0, 'hand', 7)",
    )
    old.close()
    new = database.open()
    rows = select(new, "SELECT id, name, seen_at FROM nodes ORDER BY id")
    assert rows == [{"id": "m", "name": "m", "seen_at": 7}, {"id": "n", "name": "n", "seen_at": 1}]
    assert select(new, "SELECT host FROM sessions") == [{"host": "n"}]


def test_what_waited_before_events_existed_goes_on(database: Database) -> None:
    old = database.open(5)
    waiting = JOB.format("open_conditions, template_id", "'child', 'default', 't', 100, 'SCHEDULED', 1, '{}', 1, 't1'")
    for text in (
        ROWS[0],
        ROWS[3],
        "INSERT INTO job_templates (id, name, job_type, queue, options, created_at, updated_at)"
        """ VALUES ('t1', 'clean', 't', 'default', '{"priority":3}', 1, 1)""",
        waiting,
        "INSERT INTO job_conditions (job_id, key, value) VALUES ('child', 'after:ready', 'done')",
    ):
        execute(old, text)
    old.close()
    new = database.open()
    assert new.query(find_template, "clean").options.priority == 3
    assert (state(new, "child"), examine(new)) == ("SCHEDULED", [])
    end(new, claim_one(new))
    assert (claim_one(new).job_id, examine(new)) == ("child", [])


def test_who_waited_for_an_event_before_patterns_had_owners_is_told_of_it(database: Database) -> None:
    old = database.open(25)
    waiting = JOB.format(
        "open_conditions, schedule_type, wait_for_event",
        "'waits', 'default', 't', 100, 'SCHEDULED', 1, '{}', 1, 'CONDITION', 'build.*'",
    )
    for text in (
        ROWS[0],
        waiting,
        "INSERT INTO job_conditions (job_id, key, value) VALUES ('waits', 'event', 'build.*')",
        "INSERT INTO webhooks (id, name, url, secret, patterns, is_enabled, created_at, updated_at)"
        """ VALUES ('w', 'ci', 'https://hooks.example/in', 'a-secret-of-ours', '["build.*"]', 1, 1, 1)""",
        "INSERT INTO event_patterns (pattern, webhook_id) VALUES ('build.*', ''), ('build.*', 'w')",
    ):
        execute(old, text)
    old.close()
    new = database.open()
    assert [row["owner"] for row in select(new, "SELECT owner FROM event_patterns ORDER BY owner")] == ["", "w"]
    assert examine(new) == []
    told = write(new, emit, "e", "build.done", {}, NOW)
    assert (told.waiting, told.webhooks) == (1, 1)
    let_time_pass(new, NOW)
    assert (state(new, "waits"), len(new.query(list_deliveries, "ci").deliveries)) == ("QUEUED", 1)


def test_what_failed_before_there_were_dead_letters_is_among_them(database: Database) -> None:
    old = database.open(12)
    failed = "finished_at, error_code, reason, retry_of"
    for job, queue, retry_of in (("link", "q", "NULL"), ("last", "q", "'link'"), ("own", "holdfast.canary", "NULL")):
        values = f"'{job}', '{queue}', 't', 100, 'FAILED', 1, '{{}}', 9, 'ERR_X', 'line 7', {retry_of}"
        execute(old, JOB.format(failed, values))
    execute(
        old,
        "INSERT INTO job_runs (id, job_id, attempt, status, params_snapshot, started_at, finished_at, error_kind)"
        " VALUES ('r', 'last', 1, 'FAILED', '{}', 1, 9, 'permanent')",
    )
    old.close()
    engine = database.open()
    assert write(engine, name_old_letters) == 1
    [letters] = engine.query(list_dead_letters).letters
    assert (letters.example.job_id, letters.kind, letters.pattern, letters.last_seen) == (
        "last",
        "permanent",
        "line <*>",
        9,
    )


def test_a_migration_that_was_applied_with_other_contents_is_refused(database: Database) -> None:
    engine = database.open()
    execute(engine, "UPDATE schema_version SET sha256 = 'other' WHERE version = 2")
    engine.close()
    with pytest.raises(SchemaMismatch, match="002_execution_retry was applied with other contents"):
        database.open()


def test_a_newer_database_is_refused(database: Database) -> None:
    engine = database.open()
    execute(engine, "INSERT INTO schema_version VALUES (99, '099_the_future', 'x', 1)")
    engine.close()
    with pytest.raises(SchemaMismatch, match="newer than this program: it has migration 099_the_future"):
        database.open()


def test_a_migration_that_fails_leaves_everything_as_it_was(database: Database, tmp_path: Path) -> None:
    old = database.open(2)
    execute(old, "CREATE TABLE schedules (in_the_way BIGINT)")
    put_row(old)
    old.close()
    before = contents(database, tmp_path)
    with pytest.raises(StoreError, match=r"migration 003_conditions .*failed and was undone"):
        database.open()
    assert contents(database, tmp_path) == before


def contents(database: Database, tmp_path: Path) -> str:
    """All that is in the database: as SQL on SQLite, as tables and rows on PostgreSQL."""
    if database.dialect is Dialect.SQLITE:
        text = io.StringIO()
        connection = apsw.Connection(str(path(tmp_path)))
        apsw.shell.Shell(stdout=text, db=connection).process_command(".dump")  # type: ignore[no-untyped-call]
        connection.close()
        return "\n".join(line for line in text.getvalue().splitlines() if not line.startswith("--"))
    engine = database.open(2)
    columns = "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = current_schema()"
    found = [*sorted(map(str, select(engine, columns))), select(engine, "SELECT * FROM jobs"), applied(engine)]
    engine.close()
    return str(found)


def test_two_programs_that_open_a_new_database_at_once_both_succeed(database: Database) -> None:
    start = threading.Barrier(4)
    outcomes: list[object] = []

    def begin(engine: Engine) -> None:
        start.wait()
        try:
            outcomes.append(engine.query(list_queues))
        except BaseException as error:
            outcomes.append(error)

    threads = [threading.Thread(target=begin, args=(database.engine(),)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outcomes == [[]] * 4
    assert applied(database.engines[0]) == EVERY
