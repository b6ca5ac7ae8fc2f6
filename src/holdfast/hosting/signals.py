"""How `Holdfast.run` handles SIGINT and SIGTERM."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from queue import Empty, SimpleQueue
from types import FrameType

HEED_S = 0.5


@contextmanager
def heeding_signals(heed: Callable[[], None]) -> Iterator[None]:
    """In the block, both signals call `heed`. Python allows that only in the main thread. In others nothing changes."""

    def handler(number: int, frame: FrameType | None) -> None:
        heed()

    in_main_thread = threading.current_thread() is threading.main_thread()
    numbers = (signal.SIGINT, signal.SIGTERM) if in_main_thread else ()
    before = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield
    finally:
        for number, earlier in before.items():
            signal.signal(number, earlier)


def wait_for(asked: SimpleQueue[None]) -> None:
    """Wait in short pieces: a signal that comes just before a wait is handled only when that wait ends."""
    while True:
        with suppress(Empty):
            return asked.get(timeout=HEED_S)


def join(thread: threading.Thread) -> None:
    """Wait for the end of a thread, in short pieces, so that signals are handled."""
    while thread.is_alive():
        thread.join(HEED_S)
