"""A script that is imported late, and tells which thread did it."""

from __future__ import annotations

import threading

from holdfast.store.engine import Tx

IMPORTED_IN = threading.current_thread().name


def where_imported(tx: Tx) -> str:
    """The thread that imported this module."""
    return IMPORTED_IN
