"""A progress bar on a terminal, while a command works for long."""

from __future__ import annotations

import sys
import threading
import time
from types import TracebackType

from holdfast.cli.frame import output, times
from holdfast.cli.frame.failures import say
from holdfast.observe.terminal import in_a_line

SHOW_AFTER_S = 0.3
STEP_S = 0.1
FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"


class ProgressBar:
    """A line on stderr: a bar if the total is known, otherwise a spinner.

    Not on a terminal: nothing, or with `is_said` the text, once. It is shown only if the work takes a while, and
    removed when the work is done.
    """

    def __init__(self, text: str, *, is_said: bool = False) -> None:
        self.text = text
        self._is_said = is_said
        self._fraction: float | None = None
        self._started = time.monotonic()
        self._done = threading.Event()
        self._thread: threading.Thread | None = None

    def at(self, done: float, total: float) -> None:
        """Show that so much is done."""
        self._fraction = done / total if total else None

    def __enter__(self) -> ProgressBar:
        is_seen = sys.stderr.isatty()
        if is_seen or self._is_said:
            self._thread = threading.Thread(target=self._draw if is_seen else self._say, daemon=True)
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._done.set()
        if self._thread is not None:
            self._thread.join()

    def _say(self) -> None:
        if not self._done.wait(SHOW_AFTER_S):
            say(f"holdfast: {self.text}")

    def _draw(self) -> None:
        import shutil

        if self._done.wait(SHOW_AFTER_S):
            return
        number = 0
        while True:
            passed = times.length((time.monotonic() - self._started) * 1000)
            if self._fraction is None:
                line = f"{FRAMES[number % len(FRAMES)]} {self.text} {passed}"
            else:
                line = f"{self.text} ▕{output.bar(self._fraction, 24)}▏ {self._fraction:4.0%} {passed}"
            sys.stderr.write(f"\r\033[K{output.cut(in_a_line(line), shutil.get_terminal_size().columns - 1)}")
            sys.stderr.flush()
            number += 1
            if self._done.wait(STEP_S):
                sys.stderr.write("\r\033[K")
                sys.stderr.flush()
                return
