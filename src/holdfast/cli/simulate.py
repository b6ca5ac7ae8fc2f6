"""`holdfast simulate`: have the daemon's machine look idle, charging or on battery."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from holdfast.cli.options import HomeOption, JsonOption, client
from holdfast.cli.output import show_fields, show_json
from holdfast.cli.words import Argument, Option
from holdfast.core.errors import InvalidInput
from holdfast.core.limits import shown

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
        ("idle", f"{'yes' if machine.is_idle else 'no'}: {machine.idle}"),
        ("charging", f"{'yes' if machine.is_charging else 'no'}: {machine.charging}"),
        ("told by", f"{machine.source} on {machine.node}"),
    ]
