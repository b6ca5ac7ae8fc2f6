"""The threads whose event loop runs the coroutines of a worker. They must not block."""

from __future__ import annotations

import threading

_thread = threading.local()


def is_coroutines_thread() -> bool:
    """Whether the calling thread runs the coroutines of a worker, so that to block it blocks them all."""
    return getattr(_thread, "serves_coroutines", False)


def serve_coroutines() -> None:
    """Mark the calling thread as one that runs the coroutines of a worker."""
    _thread.serves_coroutines = True
