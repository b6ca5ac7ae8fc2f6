"""A PostgreSQL server that falls over, goes away, or takes no writes: nobody is lied to, and all goes on by itself."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import psycopg
import pytest

from holdfast.core.errors import OutcomeUnknown, StoreFull, StoreUnavailable
from holdfast.store.postgres import pool
from holdfast.store.postgres.engine import PostgresEngine
from holdfast.store.scripts.reading.read_jobs import find_job
from holdfast.store.statements import Statement
from holdfast.store.trouble import TroubleKind
from tests.faults.story import NOW, until_it_writes
from tests.faults.test_disk_full import put
from tests.postgres_server import running_postgres

WRITERS, JOBS = 3, 40
ALL_IDS = Statement("all_ids", "", "SELECT id FROM jobs")


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """A server of its own: others would not like what happens to it."""
    with running_postgres() as url:
        yield url


@pytest.fixture
def engine(url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[PostgresEngine]:
    monkeypatch.setattr(pool, "CONNECT_S", 2.0)
    engine = PostgresEngine(url, now=lambda: NOW)
    with psycopg.connect(url, autocommit=True) as server:
        server.execute("DROP SCHEMA IF EXISTS holdfast CASCADE")
    put(engine, "before")
    yield engine
    engine.close()


def on_server(url: str, *statements: str) -> None:
    with psycopg.connect(url, autocommit=True, options="-c default_transaction_read_only=off") as server:
        for statement in statements:
            server.execute(statement.encode())


def job_ids(engine: PostgresEngine) -> set[str]:
    return {row["id"] for row in engine.query(lambda tx: tx.rows(ALL_IDS))}


def put_until_it_is_full(engine: PostgresEngine, stored: list[str]) -> None:
    for number in range(5_000):
        put(engine, f"job-{number}")
        stored.append(f"job-{number}")


CUT = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND usename IS NOT NULL"


def test_a_server_that_falls_over_and_comes_back_costs_nobody_a_job(engine: PostgresEngine, url: str) -> None:
    stored: list[str] = []
    unknown: list[str] = []

    def write(name: str) -> None:
        for number in range(JOBS):
            job_id = f"{name}-{number}"
            try:
                put(engine, job_id)
                stored.append(job_id)
            except (OutcomeUnknown, StoreUnavailable):
                unknown.append(job_id)

    threads = [Thread(target=write, args=(f"w{number}",)) for number in range(WRITERS)]
    for thread in threads:
        thread.start()
    with psycopg.connect(url) as victim:
        os.kill(victim.info.backend_pid, signal.SIGKILL)  # The server ends all others and begins anew.
    for thread in threads:
        thread.join()
    until_it_writes(engine)
    put(engine, "after")
    assert set(stored) <= job_ids(engine)
    assert len(stored) + len(unknown) == WRITERS * JOBS


def test_a_server_that_is_gone_is_refused_at_once_and_found_again(engine: PostgresEngine, url: str) -> None:
    socket = Path(url.partition("host=")[2]) / ".s.PGSQL.5432"
    away = socket.with_name("away")
    with psycopg.connect(url, autocommit=True) as server:
        socket.rename(away)
        server.execute(CUT)
    try:
        with pytest.raises(StoreUnavailable, match="cannot be reached"):
            put(engine, "hit")
        with pytest.raises(StoreUnavailable, match="goes on by itself when it is back") as refused:
            put(engine, "refused")
        assert refused.value.retry_after is not None
    finally:
        away.rename(socket)
    until_it_writes(engine)
    put(engine, "after")
    assert job_ids(engine) == {"before", "after"}


def test_an_engine_can_be_closed_while_its_server_is_gone(engine: PostgresEngine, url: str) -> None:
    socket = Path(url.partition("host=")[2]) / ".s.PGSQL.5432"
    away = socket.with_name("away")
    with psycopg.connect(url, autocommit=True) as server:
        socket.rename(away)
        server.execute(CUT)
    try:
        with pytest.raises(StoreUnavailable):
            put(engine, "hit")
        with engine._opening:  # As a close has it while it waits for the calls under way.
            assert isinstance(engine.submit(find_job, "before").exception(30), StoreUnavailable)
        engine.close()
    finally:
        away.rename(socket)


def test_a_server_that_takes_no_writes_is_read_on_and_written_when_it_does(engine: PostgresEngine, url: str) -> None:
    on_server(url, "ALTER DATABASE postgres SET default_transaction_read_only = on", CUT)
    try:
        for name in ("hit", "refused"):
            with pytest.raises(StoreUnavailable, match="is read-only"):
                put(engine, name)
        trouble = engine.troubles.current
        assert trouble is not None
        assert trouble.kind is TroubleKind.READ_ONLY
        assert engine.query(find_job, "before").id == "before"
    finally:
        on_server(url, "ALTER DATABASE postgres RESET default_transaction_read_only")
    until_it_writes(engine)
    put(engine, "after")


def test_a_server_whose_disk_is_full_says_so_and_goes_on_when_there_is_room(engine: PostgresEngine, url: str) -> None:
    folder = Path(url.partition("host=")[2]) / "small"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("this environment does not let us mount a small disk")
    try:
        shutil.chown(folder, folder.parent.owner(), folder.parent.group())
        on_server(url, f"CREATE TABLESPACE small LOCATION '{folder}'", "ALTER TABLE holdfast.jobs SET TABLESPACE small")
        stored = ["before"]
        with pytest.raises(StoreFull, match="is out of room"):
            put_until_it_is_full(engine, stored)
        assert engine.query(find_job, stored[-1]).id == stored[-1]
        on_server(url, "ALTER TABLE holdfast.jobs SET TABLESPACE pg_default", "DROP TABLESPACE small")
        until_it_writes(engine)
        put(engine, "after")
        assert job_ids(engine) == {*stored, "after"}
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)
