"""What SQLite's errors mean to a caller."""

from __future__ import annotations

from typing import TypeAlias

import apsw

from holdfast.core.errors import (
    HoldfastError,
    StoreBusy,
    StoreCorrupt,
    StoreError,
    StoreFull,
    StoreUnavailable,
)
from holdfast.store.trouble import TroubleKind

# For damaged text on the disk, apsw raises the second.
DatabaseError: TypeAlias = apsw.Error | UnicodeDecodeError
DATABASE_ERRORS = (apsw.Error, UnicodeDecodeError)


def lacks_room(error: BaseException) -> bool:
    """Whether the disk is full. Every reader needs the file of the log's index too, which may not fit."""
    return isinstance(error, apsw.FullError) or getattr(error, "extendedresult", 0) == apsw.SQLITE_IOERR_SHMSIZE


def translate(error: DatabaseError, path: str) -> HoldfastError:
    """Our error for an error of SQLite. It says what happened and what to do."""
    match error:
        case UnicodeDecodeError():
            return StoreCorrupt(f"{path} is damaged: it holds text that is none ({error}); restore it from a backup")
        case apsw.Error() if lacks_room(error):
            return StoreFull(f"the disk that holds {path} is full; nothing was written. Free some space and try again")
        case apsw.BusyError() | apsw.LockedError():
            return StoreBusy(f"another program keeps {path} locked; nothing was written. Close it or try again")
        case apsw.CorruptError() | apsw.NotADBError():
            return StoreCorrupt(f"{path} is damaged or not a database ({error}); restore it from a backup")
        case apsw.ReadOnlyError():
            return StoreUnavailable(f"{path} is read-only; make the file and its folder writable")
        case apsw.CantOpenError() | apsw.PermissionsError() | apsw.AuthError():
            return StoreUnavailable(f"{path} cannot be opened ({error}); check that the folder exists and is writable")
        case apsw.InterruptError():
            return StoreBusy(f"a query on {path} took too long and was stopped; narrow it or try again")
        case apsw.IOError():
            return StoreUnavailable(
                f"the disk that holds {path} reports an error ({error}); nothing was written. Look after the disk"
            )
        case apsw.NoMemError():
            return StoreError(f"there was no memory left to work on {path}; nothing was written. Try again")
        case _:
            return StoreError(f"the database {path} refused: {error}")


def kind_of(error: BaseException) -> TroubleKind | None:
    """What is wrong with the store. None: the store is well, and the request was wrong."""
    match error:
        case apsw.Error() if lacks_room(error):
            return TroubleKind.FULL
        case apsw.BusyError() | apsw.LockedError() | StoreBusy():
            return TroubleKind.BUSY
        case apsw.CorruptError() | apsw.NotADBError():
            return TroubleKind.CORRUPT
        case apsw.ReadOnlyError() | apsw.CantOpenError() | apsw.PermissionsError():
            return TroubleKind.READ_ONLY
        case apsw.NoMemError() | MemoryError():
            return TroubleKind.MEMORY
        case apsw.IOError():
            return TroubleKind.IO
        case _:
            return None
