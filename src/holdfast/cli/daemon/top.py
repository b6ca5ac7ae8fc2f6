"""`holdfast top`: everything that moves, live."""

from __future__ import annotations

import os
import select
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Annotated

from holdfast.cli.frame.clients import client
from holdfast.cli.frame.output import Output
from holdfast.cli.frame.words import Option
from holdfast.core.errors import HoldfastError, InvalidInput

if TYPE_CHECKING:
    from rich.console import Console

    from holdfast.cli.daemon.top_frame import TopReader, TopView

KEY_S = 0.1
MOST_KEYS = 64


def top(
    interval: Annotated[float, Option(metavar="TIME", field="top.interval", help="How long between two looks.")] = 1.0,
    once: Annotated[bool, Option("--once", help="Print one frame, and end.")] = False,
) -> Output:
    """Watch queues, running jobs, workers and the machine.

    Ends with q or Ctrl-C.

    \b
    Examples:
      holdfast top
      holdfast top --once
    """
    from holdfast.cli.daemon.top_frame import TopReader

    reader = TopReader(client())
    return Output(reader.read, lambda: _show(reader, interval, once=once))


def _show(reader: TopReader, interval: float, *, once: bool) -> None:
    from rich.console import Console

    from holdfast.cli.daemon.top_frame import draw

    console = Console(width=None if sys.stdout.isatty() or "COLUMNS" in os.environ else 120)
    if once:
        console.print(draw(reader.read(), console.size.width, None))
        return
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise InvalidInput("top needs a terminal; for one frame: holdfast top --once")
    _live(console, TopWatcher(reader, interval))


class TopWatcher:
    """Looks at intervals, in a thread of its own, so that a daemon that does not answer does not freeze the keys."""

    def __init__(self, reader: TopReader, interval: float) -> None:
        self._reader = reader
        self._interval = interval
        self._stop = threading.Event()
        self.view: TopView | None = None
        self.problem: str | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        """Begin. The first look is made here, so that a daemon that is not there ends the command."""
        self.view = self._reader.read()
        self._thread.start()

    def stop(self) -> None:
        """Stop looking."""
        self._stop.set()

    def _run(self) -> None:
        while not self._stop.wait(self._interval):
            try:
                self.view, self.problem = self._reader.read(), None
            except HoldfastError as error:
                self.problem = str(error)


def _live(console: Console, watcher: TopWatcher) -> None:
    from rich.live import Live

    from holdfast.cli.daemon.top_frame import draw

    watcher.start()
    seen, size = None, None
    try:
        with _keys(), Live(console=console, screen=True, auto_refresh=False) as live:
            while True:
                now = (watcher.view, watcher.problem)
                if now != seen or console.size != size:
                    seen, size = now, console.size
                    assert watcher.view is not None
                    live.update(draw(watcher.view, size.width, size.height, watcher.problem), refresh=True)
                if _wants_to_leave():
                    return
    finally:
        watcher.stop()


@contextmanager
def _keys() -> Iterator[None]:
    """In the block, keys come one by one, and are not shown."""
    import termios
    import tty

    before = termios.tcgetattr(sys.stdin)
    tty.setcbreak(sys.stdin)
    try:
        yield
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)


def _wants_to_leave() -> bool:
    with suppress(InterruptedError):
        if select.select([sys.stdin], [], [], KEY_S)[0]:
            # Not by sys.stdin, which would buffer keys.
            keys = os.read(sys.stdin.fileno(), MOST_KEYS)
            return not keys or any(key in keys for key in (b"q", b"Q", b"\x03"))
    return False
