"""The server the PostgreSQL tests stand on."""

import subprocess
import sys
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import psycopg
import pytest
from psycopg import sql

from tests.chaos.processes import until
from tests.postgres_server import running_postgres


def folder_of(url: str) -> Path:
    return Path(parse_qs(urlsplit(url).query)["host"][0])


def setting(url: str, name: str) -> str:
    with psycopg.connect(url) as connection:
        row = connection.execute("SELECT current_setting(%s)", [name]).fetchone()
    assert row is not None
    return str(row[0])


def test_the_server_of_the_tests_takes_many_connections_and_never_syncs(postgres_url: str) -> None:
    assert int(setting(postgres_url, "max_connections")) >= 200
    assert setting(postgres_url, "fsync") == "off"


def test_any_other_is_durable() -> None:
    with running_postgres() as url:
        assert (setting(url, "fsync"), setting(url, "synchronous_commit")) == ("on", "on")


def test_a_schema_is_there_and_empty(postgres_url: str, postgres_schema: str) -> None:
    with psycopg.connect(postgres_url) as connection:
        table = sql.SQL("CREATE TABLE {} (x int)").format(sql.Identifier(postgres_schema, "once"))
        connection.execute(table)


def test_two_servers_do_not_meet(postgres_url: str) -> None:
    with running_postgres() as other:
        with psycopg.connect(other, autocommit=True) as connection:
            connection.execute("CREATE DATABASE only_here")
        with psycopg.connect(postgres_url) as connection:
            found = connection.execute("SELECT 1 FROM pg_database WHERE datname = 'only_here'").fetchone()
    assert found is None
    assert not folder_of(other).exists()


def test_a_killed_owner_takes_its_server_along() -> None:
    script = (
        "import sys\n"
        "from tests.postgres_server import running_postgres\n"
        "with running_postgres() as url:\n"
        "    print(url, flush=True)\n"
        "    sys.stdin.read()\n"
    )
    owner = subprocess.Popen(
        [sys.executable, "-c", script],
        cwd=Path(__file__).parent.parent,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with owner:
        assert owner.stdout
        url = owner.stdout.readline().strip()
        psycopg.connect(url).close()
        owner.kill()
    until(lambda: not folder_of(url).exists(), "its server has cleaned up")
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(url)
