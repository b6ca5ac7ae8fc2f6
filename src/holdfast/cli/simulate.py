"""`holdfast simulate`: have the daemon's machine look idle, charging or on battery."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from holdfast.cli.options import HomeOption, JsonOption, client
from holdfast.cli.output import show_fields, show_json
from holdfast.cli.words import Argument, Option
from holdfast.core.errors import InvalidInput
from holdfast.core.limits import shown
from holdfast.core.machine import NOBODY, NOT_LOOKED, NOT_YET

if TYPE_CHECKING:
    from holdfast.store.scripts.machines import Machine

OFF = "off"
SWITCHES = {"on": True, "off": False}
SHORT = {"idle": "idle=on", "charging": "charging=on", "discharging": "charging=off"}
ALLOWED = "idle=on, idle=off, charging=on, charging=off, battery=0 to battery=100, or off to end it"


def simulate(
    words: Annotated[
        list[str] | None, Argument("[WORD]...", help="idle=on|off, charging=on|off, battery=N; or off.")
    ] = None,
    node: Annotated[str | None, Option(metavar="NODE", help="Which machine; by default the daemon's own.")] = None,
    home: HomeOption = None,
    json: JsonOption = False,
) -> None:
    """Have the machine look idle, charging or on battery.

    What is not named stays as it really is. It stays simulated until it is switched off.

    \b
    Words:
      idle=on|off, or idle              whether nobody uses it
      charging=on|off, or charging      whether it has mains power
      discharging                       the same as charging=off
      battery=N                         its charge, from 0 to 100
      off                               nothing is simulated any more

    \b
    Examples:
      holdfast simulate idle=on charging=off
      holdfast simulate battery=15 discharging
      holdfast simulate off
    """
    if not words:
        raise InvalidInput(f"nothing to simulate: say {ALLOWED}")
    wanted = {} if words == [OFF] else read(words)
    hf = client(home)
    machine = hf.simulate(node or hf.daemon().node, **wanted)
    show_json(machine) if json else show_fields(fields(machine))


def read(words: list[str]) -> dict[str, Any]:
    """What the words say, by name."""
    found: dict[str, Any] = {}
    for word in words:
        name, _, value = SHORT.get(word, word).partition("=")
        if name in found:
            raise InvalidInput(f"{name} is said twice ({shown(' '.join(words))}): say it once")
        if name in ("idle", "charging") and value in SWITCHES:
            found[name] = SWITCHES[value]
        elif name == "battery" and value.isascii() and value.isdigit() and int(value) <= 100:
            found[name] = int(value)
        else:
            raise InvalidInput(f"{shown(word)} cannot be simulated: say {ALLOWED}")
    return found


def fields(machine: Machine) -> list[tuple[str, str | None]]:
    """How a machine is, for people."""
    return [
        ("idle", verdict(machine.is_idle, machine.idle)),
        ("charging", verdict(machine.is_charging, machine.charging)),
        ("told by", f"{'nobody yet' if machine.source == NOBODY else machine.source}, on {machine.node}"),
    ]


def verdict(is_so: bool, said: str) -> str:
    """Whether a machine is idle, or charging, and why; or that nobody knows."""
    unknown = {NOT_YET: "not known yet", NOT_LOOKED: "not watched: no job waits for it"}
    return unknown.get(said) or f"{'yes' if is_so else 'no'}: {said}"
