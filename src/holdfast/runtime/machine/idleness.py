"""How long the machine was not used. logind, X11 or macOS tell it, each through a program of the system."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable
from typing import ClassVar

from msgspec import Struct

from holdfast.core.job import Millis
from holdfast.core.machine.readings import InputSeen
from holdfast.runtime.machine import system_programs

PROPERTIES = ("Type", "Class", "State", "Desktop", "IdleHint", "IdleSinceHintMonotonic")
GRAPHICAL = ("x11", "wayland", "mir")
# Sessions of these desktops tell logind when they are idle. Of others nothing is known.
TELLING = ("gnome", "ubuntu", "unity", "budgie", "cinnamon", "mate", "pantheon")
_IDLE_TIME = re.compile(r'"HIDIdleTime"\s*=\s*(\d+)')


class Logind(Struct, frozen=True):
    """Linux: the sessions of all users at the machine, or by the network."""

    monotonic: Callable[[], float] = time.monotonic
    tells: ClassVar[str] = "input"
    is_cheap: ClassVar[bool] = False

    def look(self) -> InputSeen | None:
        """The latest input of all sessions. None if none of them tells."""
        listed = system_programs.output_of("loginctl", "list-sessions", "--no-legend")
        names = [line.split()[0] for line in (listed or "").splitlines() if line.strip()]
        if not names:
            return None
        # A question about several sessions fails if one of them ends meanwhile.
        shown = system_programs.output_of("loginctl", "show-session", *_wanted(), *names)
        told = [idle for block in (shown or "").split("\n\n") if (idle := self._idle_ms(_fields(block))) is not None]
        return InputSeen("logind", min(told)) if told else None

    def _idle_ms(self, session: dict[str, str]) -> Millis | None:
        """How long a session has been without input. None if it does not tell, or takes no input."""
        if session.get("State") != "active" or not session.get("Class", "user").startswith("user"):
            return None
        since = _number(session.get("IdleSinceHintMonotonic"))
        idle_ms = max(0, round(self.monotonic() * 1000 - since / 1000))
        if session.get("Type") not in GRAPHICAL:
            # The moment at which its terminal was last read from, whether it is idle or not.
            return idle_ms if since else None
        if session.get("IdleHint") == "yes":
            return idle_ms if since else None
        desktop = session.get("Desktop", "").lower()
        return 0 if since or any(name in desktop for name in TELLING) else None


class XPrintIdle(Struct, frozen=True):
    """X11, if `xprintidle` is installed."""

    tells: ClassVar[str] = "input"
    is_cheap: ClassVar[bool] = False

    def look(self) -> InputSeen | None:
        """The time since the last input, or None."""
        said = system_programs.output_of("xprintidle") if os.environ.get("DISPLAY") else None
        return InputSeen("X11", int(said)) if said is not None and said.strip().isdigit() else None


class HidIdleTime(Struct, frozen=True):
    """macOS: the registry of devices counts the nanoseconds since the last input."""

    tells: ClassVar[str] = "input"
    is_cheap: ClassVar[bool] = False

    def look(self) -> InputSeen | None:
        """The time since the last input, or None."""
        found = _IDLE_TIME.search(system_programs.output_of("ioreg", "-r", "-d", "1", "-c", "IOHIDSystem") or "")
        return None if found is None else InputSeen("macOS", int(found[1]) // 1_000_000)


def _wanted() -> list[str]:
    return [word for name in PROPERTIES for word in ("-p", name)]


def _fields(block: str) -> dict[str, str]:
    pairs = (line.partition("=") for line in block.splitlines())
    return {name: value.strip() for name, _, value in pairs}


def _number(text: str | None) -> int:
    return int(text) if text is not None and text.isdigit() else 0
