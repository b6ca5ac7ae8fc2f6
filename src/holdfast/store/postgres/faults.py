"""What PostgreSQL's errors mean to a caller."""

from __future__ import annotations

import psycopg
from psycopg import errors as pg
from psycopg_pool import PoolTimeout

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
from holdfast.store.trouble import TroubleKind


def translate(error: psycopg.Error, where: str, *, committing: bool = False) -> HoldfastError:
    """Our error for an error of PostgreSQL. It says what happened and what to do."""
    said = " ".join(str(error).split())  # PostgreSQL's messages have several lines.
    match error:
        case pg.DiskFull() | pg.OutOfMemory():
            return StoreFull(f"{where} is out of room ({said}); nothing was written")
        case pg.DataCorrupted() | pg.IndexCorrupted():
            return StoreCorrupt(f"{where} is damaged ({said}); restore it from a backup")
        case pg.IoError():
            return StoreUnavailable(f"the disk of {where} reports an error ({said}); nothing was written")
        case pg.LockNotAvailable() | pg.QueryCanceled():
            return StoreBusy(f"{where} was too busy ({said}); nothing was written. Try again")
        case pg.ReadOnlySqlTransaction():
            return StoreUnavailable(f"{where} is read-only ({said}); nothing was written")
        case pg.InsufficientPrivilege() | pg.InvalidPassword() | pg.InvalidSchemaName():
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


def kind_of(error: BaseException) -> TroubleKind | None:
    """What is wrong with the store. None: the store is well, and the request was wrong."""
    match error:
        case pg.DiskFull():
            return TroubleKind.FULL
        case pg.OutOfMemory():
            return TroubleKind.MEMORY
        case pg.DataCorrupted() | pg.IndexCorrupted():
            return TroubleKind.CORRUPT
        case pg.ReadOnlySqlTransaction():
            return TroubleKind.READ_ONLY
        case pg.IoError():
            return TroubleKind.IO
        case pg.LockNotAvailable() | pg.QueryCanceled() | pg.SerializationFailure() | pg.DeadlockDetected():
            return TroubleKind.BUSY
        case pg.ProgramLimitExceeded() | pg.InvalidPassword() | pg.InvalidAuthorizationSpecification():
            return None
        case PoolTimeout() | psycopg.OperationalError() | psycopg.InterfaceError():
            return TroubleKind.LOST
        case _:
            return None


def may_pass(error: psycopg.Error) -> bool:
    """Whether the same may go well at once on another connection. Nothing of it was stored."""
    if isinstance(error, PoolTimeout):
        return False  # The pool has tried for long.
    if isinstance(error, pg.SerializationFailure | pg.DeadlockDetected):
        return True
    return kind_of(error) in (TroubleKind.LOST, TroubleKind.READ_ONLY, TroubleKind.MEMORY)
