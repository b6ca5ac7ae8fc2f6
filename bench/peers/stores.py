"""A fresh store for one contestant: a file, a database, a Redis or a daemon, gone when it is done."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit
from uuid import uuid4

import psycopg

from bench.peers.environments import Unavailable, last_line
from bench.table import Place

START_SECONDS = 20
# Redis acknowledges nothing before it is on disk.
SYNCED = ("--appendonly", "yes", "--appendfsync", "always")


@contextmanager
def fresh_store(kind: str, place: Place) -> Iterator[str]:
    """Where a contestant keeps its jobs, as its driver wants it named."""
    match kind:
        case "file":
            yield place.new_file()
        case "postgres":
            with _database(place.postgres_url) as url:
                yield url
        case "redis":
            with _redis(place.folder) as url:
                yield url
        case "synced redis":
            with _redis(place.folder, *SYNCED) as url:
                yield url
        case "daemon":
            with _daemon() as home:
                yield home
        case "daemon on postgres":
            with _database(place.postgres_url) as url, _daemon("--store", url) as home:
                yield home
        case _:
            raise ValueError(f"there is no store {kind!r}")


@contextmanager
def _database(server: str) -> Iterator[str]:
    name = f"peer_{uuid4().hex[:12]}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}".encode())
        try:
            yield urlsplit(server)._replace(path=f"/{name}").geturl()
        finally:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


@contextmanager
def _redis(parent: Path, *settings: str) -> Iterator[str]:
    program = _redis_program()
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    folder = tempfile.mkdtemp(dir=parent)
    words = [program, "--bind", "127.0.0.1", "--port", str(port), "--dir", folder, *settings]
    server = subprocess.Popen(words, stdout=subprocess.DEVNULL, start_new_session=True)
    try:
        until = time.monotonic() + START_SECONDS
        while not _answers(port):
            if server.poll() is not None or time.monotonic() > until:
                raise Unavailable(f"redis-server did not start on port {port}")
            time.sleep(0.02)
        yield f"redis://127.0.0.1:{port}/0"
    finally:
        server.terminate()
        server.wait()


def _redis_program() -> str:
    if not shutil.which("redis-server") and os.geteuid() == 0 and shutil.which("apt-get"):
        for words in (["apt-get", "update", "-qq"], ["apt-get", "install", "-qq", "-y", "redis-server"]):
            subprocess.run(words, capture_output=True, check=False)
    program = shutil.which("redis-server")
    if program is None:
        raise Unavailable("there is no redis-server here; on Debian and Ubuntu: sudo apt-get install redis-server")
    return program


def _answers(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1) as connection:
            connection.sendall(b"PING\r\n")
            return connection.recv(16).startswith(b"+PONG")
    except OSError:
        return False


@contextmanager
def _daemon(*words: str) -> Iterator[str]:
    # The path of a socket has room for little more than a hundred bytes.
    with tempfile.TemporaryDirectory(prefix="hf-", dir=os.environ.get("HOLDFAST_BENCH_DIR")) as home:
        _holdfast("up", "--home", home, "--detach", *words)
        try:
            yield home
        finally:
            _holdfast("down", "--home", home)


def _holdfast(*words: str) -> None:
    result = subprocess.run([sys.executable, "-m", "holdfast.cli", *words], capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise Unavailable(f"`holdfast {words[0]}` failed: {last_line(result.stderr)}")
