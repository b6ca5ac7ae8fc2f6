"""Maintain a schema of a PostgreSQL server. The server does most of it itself."""

from __future__ import annotations

from collections.abc import Callable

import psycopg
from psycopg import sql as compose

from holdfast.core.errors import InvalidInput
from holdfast.store.maintenance import Vacuumed
from holdfast.store.postgres.engine import PostgresEngine
from holdfast.store.postgres.faults import translate

_TABLES = "SELECT tablename FROM pg_tables WHERE schemaname = %s ORDER BY tablename"


class ServerMaintenance:
    """The maintenance of one schema. Each call has a connection of its own, and no transaction that others wait for."""

    def __init__(self, engine: PostgresEngine) -> None:
        self._engine = engine

    def tables(self) -> list[str]:
        try:
            with self._engine.connect() as connection:
                return [name for (name,) in connection.execute(_TABLES, (self._engine.schema,)).fetchall()]
        except psycopg.Error as error:
            raise translate(error, self._engine.title) from error

    def analyse(self, table: str) -> None:
        try:
            with self._engine.connect() as connection:
                connection.execute(compose.SQL("ANALYZE {}").format(compose.Identifier(self._engine.schema, table)))
        except psycopg.Error as error:
            raise translate(error, self._engine.title) from error

    def empty_log(self) -> int:
        return 0

    def vacuum(self, should_stop: Callable[[], bool]) -> Vacuumed:
        raise InvalidInput("PostgreSQL looks after its files itself (autovacuum)")
