"""An event loop in a thread of its own, for coroutines of users. One that blocks it delays nothing of ours."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable
from typing import Any

from holdfast.tasks.coroutine_thread import serve_coroutines

log = logging.getLogger("holdfast.worker")


class UserLoop:
    """Runs until it is closed, whatever is raised through it. Then `at_end` is called, in its thread."""

    def __init__(self, at_end: Callable[[], None]) -> None:
        self.loop = asyncio.new_event_loop()
        self._at_end = at_end
        self._is_closing = False
        self._thread = threading.Thread(target=self._serve, name="holdfast-work", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def call(self, function: Callable[..., None], *args: Any) -> None:
        """Call a function in the loop. Called from any thread. RuntimeError: it is closed."""
        self.loop.call_soon_threadsafe(function, *args)

    def close(self, patience: float | None = None) -> bool:
        """End the loop, and wait until its thread has ended. False if that takes longer than `patience` seconds."""
        self._is_closing = True
        if self._thread.is_alive():
            self.call(self.loop.stop)
            self._thread.join(patience)
        elif not self.loop.is_closed():
            self.loop.close()
        return not self._thread.is_alive()

    def _serve(self) -> None:
        asyncio.set_event_loop(self.loop)
        serve_coroutines()
        try:
            while not self._is_closing:
                try:
                    self.loop.run_forever()
                except BaseException as error:
                    # An asyncio task of the user can raise these through the loop, while others go on here.
                    log.error("a task raised %r through the event loop; it goes on", error)
        finally:
            self.loop.run_until_complete(self.loop.shutdown_asyncgens())
            self.loop.close()
            self._at_end()


def end_without_loop(task: asyncio.Task[Any]) -> bool:
    """End a coroutine whose loop is closed. False: its clean-up was cut off."""
    task._log_destroy_pending = False  # type: ignore[attr-defined]
    try:
        task.get_coro().close()
    except Exception:
        return False
    return True
