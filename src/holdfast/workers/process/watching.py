"""Follow a process from its gate until its group is empty: write its output to the log, and stop it if asked to."""

from __future__ import annotations

import os
import selectors
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress

from holdfast.runtime.sessions import processes
from holdfast.tasks.program import Program
from holdfast.workers.process.launching import Gated, PipeEnd

CHUNK = 1 << 16
MOST_AT_THE_END = 1 << 20
LONGEST_TAIL = 1_000
LOOK_S = 0.02
LONGEST_LOOK_S = 1.0
LOOK_FOR_EXIT_S = 0.05


class WakePipe:
    """Wakes a thread that waits for several things at once. Any other thread may call `wake`."""

    def __init__(self) -> None:
        ends = os.pipe()
        for end in ends:
            os.set_blocking(end, False)
        self._lock = threading.Lock()
        self._is_closed = False
        self.read_end, self._write_end = PipeEnd(ends[0]), PipeEnd(ends[1])

    def wake(self) -> None:
        """Wake the thread. Does nothing after `close`."""
        with self._lock:
            if not self._is_closed:
                with suppress(BlockingIOError):  # The pipe is full, so the thread wakes up anyway.
                    os.write(self._write_end.fileno(), b"!")

    def clear(self) -> None:
        """The thread is awake."""
        with suppress(BlockingIOError):
            os.read(self.read_end.fileno(), CHUNK)

    def close(self) -> None:
        """The thread has ended."""
        with self._lock:
            self._is_closed = True
            self.read_end.close()
            self._write_end.close()


class ProcessWatch:
    """One process that has passed its gate. Everything here happens in the thread that calls `follow`."""

    def __init__(
        self,
        process: Gated,
        program: Program,
        wake_up: WakePipe,
        log: Callable[[bytes], None],
        pause: Callable[[], tuple[bool, float | None]],
    ) -> None:
        """`pause` says whether to stop the process now, and how long to wait until it is asked again."""
        self._process = process
        self._program = program
        self._wake_up = wake_up
        self._log = log
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
        self.flush: Callable[[], bool] = lambda: False
        self._ends: list[tuple[PipeEnd, Callable[[bytes], None]]] = []

    @property
    def last_line(self) -> str:
        """The last line that the process printed."""
        lines = self._tail.decode("utf-8", "replace").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "")

    def follow_pipe(self, end: PipeEnd, receive: Callable[[bytes], None]) -> None:
        """Call `receive` with what comes out of a pipe."""
        os.set_blocking(end.fileno(), False)
        self._ends.append((end, receive))
        self._selector.register(end.fileno(), selectors.EVENT_READ, lambda: self._read(end, receive))

    def follow(self) -> int:
        """Follow it until the process has ended and its group is empty. Return its exit status."""
        with self._selector:
            self.follow_pipe(self._process.output, self._note)
            self.follow_pipe(self._process.failure, self._fail)
            self._selector.register(self._wake_up.read_end.fileno(), selectors.EVENT_READ, self._wake_up.clear)
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
        """The first process has ended. End the processes that it has left."""
        while processes.living(self._process.group):
            if self._kill_at is None:
                self._terminate()
            self._wait(LOOK_S)

    def _wait(self, pause: float | None) -> None:
        if self._kill_at is not None:
            left = self._kill_at - time.monotonic()
            if left <= 0 or self.is_hurried:
                processes.signal_group(self._process.group, signal.SIGKILL)
                # A process that survives SIGKILL hangs in the kernel, for an unknown time.
                left = self._kill_again_s = min(2 * self._kill_again_s, LONGEST_LOOK_S)
            pause = left if pause is None else min(pause, left)
        if not hasattr(os, "pidfd_open"):
            pause = LOOK_FOR_EXIT_S if pause is None else min(pause, LOOK_FOR_EXIT_S)
        if self.flush():
            # The process has not read all messages yet.
            pause = LOOK_S if pause is None else min(pause, LOOK_S)
        for key, _ in self._selector.select(pause):
            key.data()

    def _terminate(self) -> None:
        self._kill_at = time.monotonic() + self._program.grace_s
        processes.signal_group(self._process.group, signal.SIGTERM)
        # A stopped process gets no other signal before it continues.
        processes.signal_group(self._process.group, signal.SIGCONT)

    def _watch_exit(self) -> int | None:
        if not hasattr(os, "pidfd_open"):
            return None
        handle = os.pidfd_open(self._process.group.pid)
        # It only wakes us. `_until_exit` checks whether the process has ended.
        self._selector.register(handle, selectors.EVENT_READ, lambda: None)
        return handle

    def _read(self, end: PipeEnd, receive: Callable[[bytes], None]) -> bool:
        """Read a piece. Return whether more may come."""
        try:
            data = os.read(end.fileno(), CHUNK)
        except BlockingIOError:
            return False
        if not data:
            self._selector.unregister(end.fileno())
            end.close()
            return False
        receive(data)
        return True

    def _read_out(self) -> None:
        """Read what is still in the pipes. Their end may never come: a process outside the group may have one open."""
        for end, receive in self._ends:
            left = MOST_AT_THE_END
            while left > 0 and end.fileno() >= 0 and self._read(end, receive):
                left -= CHUNK

    def _note(self, data: bytes) -> None:
        self._tail = (self._tail + data)[-LONGEST_TAIL:]
        self._log(data)

    def _fail(self, data: bytes) -> None:
        self.failure += data
