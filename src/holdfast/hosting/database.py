"""Which database a path or a URL means. Nothing is opened here."""

from __future__ import annotations

import os
from pathlib import Path

from holdfast.core.errors import InvalidInput, StoreUnavailable
from holdfast.core.rules import limits
from holdfast.core.settings import rule_table
from holdfast.runtime.clock import Clock, SystemClock
from holdfast.runtime.clocks.database_clock import DatabaseClock
from holdfast.store.engine import Engine, Ids
from holdfast.wire.home import find_daemon, find_home
from holdfast.wire.remote import RemoteEngine

POSTGRES = ("postgresql://", "postgres://")


def clock_for(path_or_url: str | Path | None) -> Clock:
    """The clock for the database that a path or URL means. A PostgreSQL server has its own."""
    return DatabaseClock() if str(path_or_url).startswith(POSTGRES) else SystemClock()


def make_engine(
    path_or_url: str | Path | None,
    durability: str,
    schema: str,
    clock: Clock,
    ids: Ids,
    files: Path | None = None,
    ca: str | Path | None = None,
    home: Path | None = None,
    token: str | None = None,
) -> Engine:
    """The engine that a path or URL means. Nothing is opened yet.

    `files` is a folder for logs and artifacts, instead of the default. `home` is one for the id of this machine.
    """
    if path_or_url is None or str(path_or_url).startswith(("http://", "https://")):
        return RemoteEngine(find_daemon(None if path_or_url is None else str(path_or_url), ca, token))
    if ca is not None:
        raise InvalidInput("ca= is for a daemon at an https:// address; a database of one's own shows no certificate")
    if token is not None:
        raise InvalidInput(
            "token= is for a daemon at an http:// or https:// address; a database of one's own needs none"
        )
    if not isinstance(path_or_url, str | Path) or not str(path_or_url):
        raise InvalidInput(f"{limits.shown(path_or_url)} is not a database: give a file path or a postgresql:// URL")
    text = str(path_or_url)
    if text.startswith(POSTGRES):
        rule_table.check("schema", schema)
        try:
            from holdfast.store.postgres.engine import PostgresEngine
        except ImportError as error:
            raise StoreUnavailable(
                f"PostgreSQL needs psycopg ({error}): pip install 'psycopg[binary]' psycopg-pool"
            ) from error
        heed = clock.heed if isinstance(clock, DatabaseClock) else None
        engine = PostgresEngine(
            text,
            schema=schema,
            durability=durability,
            now=clock.now,
            ids=ids,
            files=files,
            home=home or find_home().folder,
            heed_clock=heed,
        )
        if isinstance(clock, DatabaseClock):
            clock.open = lambda: engine.open()
        return engine
    if text == ":memory:":
        raise InvalidInput("':memory:' does not survive this program: give the path of a file, or a postgresql:// URL")
    if "://" in text or text.startswith("file:"):
        scheme = text.partition(":")[0]
        raise InvalidInput(
            f"{scheme!r} is not a scheme that works here: give the path of a file, or a postgresql:// URL"
        )
    if "\x00" in text or not _can_be_a_path(text):
        raise InvalidInput(f"{limits.shown(text)} cannot be the path of a file")
    from holdfast.store.sqlite.engine import SqliteEngine

    return SqliteEngine(text, durability=durability, now=clock.now, ids=ids, files=files)


def _can_be_a_path(text: str) -> bool:
    try:
        return bool(os.fsencode(text))
    except UnicodeEncodeError:
        return False
