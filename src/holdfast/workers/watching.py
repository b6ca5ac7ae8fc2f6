"""Follows a process from its gate to its end: output into the log, requests to stop, and a group that is empty."""

from __future__ import annotations

import os
import selectors
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress

from holdfast.runtime.processes import living, signal_group
from holdfast.workers.launching import End, Gated, Program

CHUNK = 1 << 16
MOST_AT_THE_END = 1 << 20
LONGEST_TAIL = 1_000
LOOK_S = 0.02
LONGEST_LOOK_S = 1.0
LOOK_FOR_EXIT_S = 0.05


class Bell:
    """Wakes a thread that waits for several things at once; rung from any other."""

    def __init__(self) -> None:
        ends = os.pipe()
        for end in ends:
            os.set_blocking(end, False)
        self._lock = threading.Lock()
        self._is_closed = False
        self.heard, self._rung = End(ends[0]), End(ends[1])

    def ring(self) -> None:
        """Wake it. Does nothing once it has gone."""
        with self._lock:
            if not self._is_closed:
                with suppress(BlockingIOError):  # It has not heard the ones before yet.
                    os.write(self._rung.fileno(), b"!")

    def silence(self) -> None:
        """Take note."""
        with suppress(BlockingIOError):
            os.read(self.heard.fileno(), CHUNK)

    def close(self) -> None:
        """Nobody waits any more."""
        with self._lock:
            self._is_closed = True
            self.heard.close()
            self._rung.close()


class Watch:
    """One process that has been let through its gate. Everything here happens in the thread that calls `follow`."""

    def __init__(
        self,
        process: Gated,
        program: Program,
        bell: Bell,
        write: Callable[[bytes], None],
        pause: Callable[[], tuple[bool, float | None]],
    ) -> None:
        """`pause` says whether to stop the process now, and how long to wait until it is asked again."""
        self._process = process
        self._program = program
        self._bell = bell
        self._write = write
        self._pause = pause
        self._selector = selectors.DefaultSelector()
        self._kill_at: float | None = None
        self._kill_again_s = LOOK_S
        self._tail = b""
        self.status: int | None = None
        self.failure = b""
        self.was_stopped = False
        self.is_hurried = False
        self.on_stop: Callable[[], None] = lambda: None
        self.speak: Callable[[], bool] = lambda: False
        self._ends: list[tuple[End, Callable[[bytes], None]]] = []

    @property
    def last_line(self) -> str:
        """The last thing that the process said."""
        lines = self._tail.decode("utf-8", "replace").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "")

    def hear(self, end: End, heed: Callable[[bytes], None]) -> None:
        """Call `heed` with what comes out of a pipe."""
        os.set_blocking(end.fileno(), False)
        self._ends.append((end, heed))
        self._selector.register(end.fileno(), selectors.EVENT_READ, lambda: self._read(end, heed))

    def follow(self) -> int:
        """Until the process has ended and nobody of its group is left; its exit status."""
        with self._selector:
            self.hear(self._process.output, self._note)
            self.hear(self._process.failure, self._fail)
            self._selector.register(self._bell.heard.fileno(), selectors.EVENT_READ, self._bell.silence)
            handle = self._watch_exit()
            try:
                self._until_exit()
            finally:
                if handle is not None:
                    self._selector.unregister(handle)
                    os.close(handle)
            self._until_empty()
            self._read_out()
        assert self.status is not None
        return self.status

    def _until_exit(self) -> None:
        while True:
            self.status = self._process.status
            if self.status is not None:
                return
            wanted, pause = self._pause()
            if wanted and self._kill_at is None:
                self.was_stopped = True
                self.on_stop()
                self._terminate()
            self._wait(pause)

    def _until_empty(self) -> None:
        """The first process has ended; who came from it and is still there goes the same way."""
        while living(self._process.group):
            if self._kill_at is None:
                self._terminate()
            self._wait(LOOK_S)

    def _wait(self, pause: float | None) -> None:
        if self._kill_at is not None:
            left = self._kill_at - time.monotonic()
            if left <= 0 or self.is_hurried:
                signal_group(self._process.group, signal.SIGKILL)
                # Who does not die of that hangs in the kernel; nobody knows how long.
                left = self._kill_again_s = min(2 * self._kill_again_s, LONGEST_LOOK_S)
            pause = left if pause is None else min(pause, left)
        if not hasattr(os, "pidfd_open"):
            pause = LOOK_FOR_EXIT_S if pause is None else min(pause, LOOK_FOR_EXIT_S)
        if self.speak():
            # It has not read all of it yet.
            pause = LOOK_S if pause is None else min(pause, LOOK_S)
        for key, _ in self._selector.select(pause):
            key.data()

    def _terminate(self) -> None:
        self._kill_at = time.monotonic() + self._program.grace_s
        signal_group(self._process.group, signal.SIGTERM)
        # One that was stopped hears nothing else before it goes on.
        signal_group(self._process.group, signal.SIGCONT)

    def _watch_exit(self) -> int | None:
        if not hasattr(os, "pidfd_open"):
            return None
        handle = os.pidfd_open(self._process.group.pid)
        # That it wakes us is all; whether it has ended is looked up.
        self._selector.register(handle, selectors.EVENT_READ, lambda: None)
        return handle

    def _read(self, end: End, heed: Callable[[bytes], None]) -> bool:
        """Whether more may come."""
        try:
            data = os.read(end.fileno(), CHUNK)
        except BlockingIOError:
            return False
        if not data:
            self._selector.unregister(end.fileno())
            end.close()
            return False
        heed(data)
        return True

    def _read_out(self) -> None:
        """What is still in the pipes. Their end may never come: somebody may have left the group with one."""
        for end, heed in self._ends:
            left = MOST_AT_THE_END
            while left > 0 and end.fileno() >= 0 and self._read(end, heed):
                left -= CHUNK

    def _note(self, data: bytes) -> None:
        self._tail = (self._tail + data)[-LONGEST_TAIL:]
        self._write(data)

    def _fail(self, data: bytes) -> None:
        self.failure += data
