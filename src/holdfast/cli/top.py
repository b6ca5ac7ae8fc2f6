"""`holdfast top`: everything that moves, live."""

from __future__ import annotations

import os
import select
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Annotated

from holdfast.cli.options import HomeOption, JsonOption, client
from holdfast.cli.output import show_json
from holdfast.cli.words import Option
from holdfast.core.errors import HoldfastError, InvalidInput

if TYPE_CHECKING:
    from rich.console import Console

    from holdfast.cli.top_frame import Glance, Look

KEY_S = 0.1
MOST_KEYS = 64


def top(
    interval: Annotated[float, Option(metavar="N", min=0.2, max=60, help="Seconds between two looks.")] = 1.0,
    once: Annotated[bool, Option("--once", help="Print one frame, and end.")] = False,
    home: HomeOption = None,
    json: JsonOption = False,
) -> None:
    """Watch queues, running jobs, workers and the machine.

    Ends with q or Ctrl-C.

    \b
    Examples:
      holdfast top
      holdfast top --once
    """
    from holdfast.cli.top_frame import Look, draw

    look = Look(client(home))
    if json:
        show_json(look.glance())
        return
    from rich.console import Console

    console = Console(width=None if sys.stdout.isatty() or "COLUMNS" in os.environ else 120)
    if once:
        console.print(draw(look.glance(), console.size.width, None))
        return
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise InvalidInput("top needs a terminal; for one frame: holdfast top --once")
    _live(console, Watcher(look, interval))


class Watcher:
    """Looks again and again, in a thread of its own: a daemon that does not answer must not freeze the keys."""

    def __init__(self, look: Look, interval: float) -> None:
        self._look = look
        self._interval = interval
        self._stop = threading.Event()
        self.glance: Glance | None = None
        self.problem: str | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        """Begin. The first look is made here, so that a daemon that is not there ends the command."""
        self.glance = self._look.glance()
        self._thread.start()

    def stop(self) -> None:
        """Look no longer."""
        self._stop.set()

    def _run(self) -> None:
        while not self._stop.wait(self._interval):
            try:
                self.glance, self.problem = self._look.glance(), None
            except HoldfastError as error:
                self.problem = str(error)


def _live(console: Console, watcher: Watcher) -> None:
    from rich.live import Live

    from holdfast.cli.top_frame import draw

    watcher.start()
    seen, size = None, None
    try:
        with _keys(), Live(console=console, screen=True, auto_refresh=False) as live:
            while True:
                now = (watcher.glance, watcher.problem)
                if now != seen or console.size != size:
                    seen, size = now, console.size
                    assert watcher.glance is not None
                    live.update(draw(watcher.glance, size.width, size.height, watcher.problem), refresh=True)
                if _wants_to_leave():
                    return
    finally:
        watcher.stop()


@contextmanager
def _keys() -> Iterator[None]:
    """Keys come one by one, and are not shown."""
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
            # Not by sys.stdin, which would keep what it reads ahead to itself.
            keys = os.read(sys.stdin.fileno(), MOST_KEYS)
            return not keys or any(key in keys for key in (b"q", b"Q", b"\x03"))
    return False
