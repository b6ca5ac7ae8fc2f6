"""Which threads must not wait: those whose event loop runs the coroutines of a worker."""

from __future__ import annotations

import threading

_thread = threading.local()


def is_coroutines_thread() -> bool:
    """Whether every coroutine of a worker stands still while the calling thread waits."""
    return getattr(_thread, "serves_coroutines", False)


def serve_coroutines() -> None:
    """The calling thread is one where every coroutine stands still while it waits."""
    _thread.serves_coroutines = True
