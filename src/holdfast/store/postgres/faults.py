"""What PostgreSQL's errors mean to a caller."""

from __future__ import annotations

import psycopg
from psycopg import errors as pg

from holdfast.core.errors import (
    HoldfastError,
    InvalidInput,
    OutcomeUnknown,
    StoreBusy,
    StoreCorrupt,
    StoreError,
    StoreFull,
    StoreUnavailable,
)


def translate(error: psycopg.Error, where: str, *, committing: bool = False) -> HoldfastError:
    """The error of ours that says what happened and what to do."""
    said = " ".join(str(error).split())  # PostgreSQL speaks in several lines.
    match error:
        case pg.DiskFull() | pg.OutOfMemory():
            return StoreFull(f"{where} is out of room ({said}); nothing was written")
        case pg.DataCorrupted() | pg.IndexCorrupted():
            return StoreCorrupt(f"{where} reports damage: {said}")
        case pg.LockNotAvailable() | pg.QueryCanceled():
            return StoreBusy(f"{where} was too busy ({said}); nothing was written. Try again")
        case pg.ReadOnlySqlTransaction() | pg.InsufficientPrivilege() | pg.InvalidPassword() | pg.InvalidSchemaName():
            return StoreUnavailable(f"{where} does not let this user write: {said}")
        case pg.ProgramLimitExceeded():
            return InvalidInput(f"{where} cannot store a value that long ({said}); nothing was written. Shorten it")
        case psycopg.OperationalError() | psycopg.InterfaceError() if committing:
            return OutcomeUnknown(
                f"the connection to {where} broke during the commit ({said}): it may or may not be there. "
                "Repeat the call with the same idempotency key, or look before you repeat"
            )
        case psycopg.OperationalError() | psycopg.InterfaceError():
            return StoreUnavailable(f"{where} cannot be reached ({said}); check that it runs and the URL is right")
        case _:
            return StoreError(f"{where} refused: {said}")
