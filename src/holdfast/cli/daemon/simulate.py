"""`holdfast simulate`: have the daemon's machine look idle, on battery, busy or hot."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from holdfast.cli.frame import output
from holdfast.cli.frame.clients import client
from holdfast.cli.frame.output import Fields, Output
from holdfast.cli.frame.words import Argument, Option
from holdfast.core.errors import InvalidInput, NotFound
from holdfast.core.machine.machine import NOBODY, NOT_LOOKED, NOT_YET
from holdfast.core.machine.readings import NUMBERS, WAL
from holdfast.core.rules import limits

if TYPE_CHECKING:
    from holdfast.client.remote import Client
    from holdfast.core.messages.machines import Machine

OFF = "off"
SWITCHES = {"on": True, "off": False}
SHORT = {
    "idle": "idle=on",
    "charging": "charging=on",
    "discharging": "charging=off",
    "throttling": "throttling=on",
}
SWITCHED = ("idle", "charging", "throttling")
ALLOWED = (
    "idle, charging or throttling =on or =off; battery, cpu, memory, gpu or disk =0 to =100; heat=0 to heat=150; "
    "wal=300MiB; or off to end it"
)
MOST_DIGITS = 13


def simulate(
    words: Annotated[
        list[str] | None, Argument("[WORD]...", help="Such as battery=15, discharging, cpu=95; or off.")
    ] = None,
    node: Annotated[
        str | None, Option(metavar="NODE", field="node", help="Which machine; by default the daemon's own.")
    ] = None,
) -> Output:
    """Have the machine look idle, on battery, busy or hot.

    What is not named stays as it really is. It stays simulated until it is switched off. Without a word, the machine is
    shown as it is.

    \b
    Words:
      idle=on|off, or idle              whether nobody uses it
      charging=on|off, or charging      whether it has mains power
      discharging                       the same as charging=off
      battery=N                         its charge, in percent
      cpu=N, gpu=N                      how busy these are, in percent
      memory=N, disk=N                  what is free of them, in percent
      heat=N                            how hot it is, in °C
      throttling=on|off, or throttling  whether it slows down because of that
      wal=SIZE                          the size of the write-ahead log: 300MiB
      off                               nothing is simulated any more

    \b
    Examples:
      holdfast simulate battery=15 discharging
      holdfast simulate cpu=95 memory=5
      holdfast simulate
      holdfast simulate off
    """
    wanted = {} if not words or words == [OFF] else read(words)
    hf = client()
    where = node or hf.daemon().node
    machine = hf.simulate(where, **wanted) if words else _find(hf, where)
    return output.described(machine, fields(machine))


def _find(hf: Client, node: str) -> Machine:
    """The machine, as its probe sees it."""
    found = {machine.node: machine for machine in hf.machines()}
    if node not in found:
        raise NotFound(
            f"nobody looks at machine {limits.shown(node)}; there are {', '.join(sorted(found)) or 'none yet'}"
        )
    return found[node]


def read(words: list[str]) -> dict[str, Any]:
    """The values that the words give, by name."""
    found: dict[str, Any] = {}
    for word in words:
        name, _, value = SHORT.get(word, word).partition("=")
        if name in found:
            raise InvalidInput(f"{name} is said twice ({limits.shown(' '.join(words))}): say it once")
        found[name] = _meant(word, name, value)
    return found


def _meant(word: str, name: str, value: str) -> bool | int:
    """The meaning of a value."""
    if name in SWITCHED and value in SWITCHES:
        return SWITCHES[value]
    if name not in NUMBERS:
        raise InvalidInput(f"{limits.shown(word)} cannot be simulated: say {ALLOWED}")
    if name == "wal":
        return WAL.bytes("wal", value)
    rule = NUMBERS[name]
    if value.isascii() and value.isdigit() and len(value) <= MOST_DIGITS:
        return rule.check(name, int(value))
    bare = value.rstrip("%°C ")
    meant = f": {name}={bare}, without a unit" if bare != value and bare.isdigit() else ""
    raise rule.refusal(name, value, f"{rule.says}{meant}")


def fields(machine: Machine) -> Fields:
    """How a machine is, for people."""
    return [
        ("idle", verdict(machine.is_idle, machine.idle)),
        ("charging", verdict(machine.is_charging, machine.charging)),
        *pressure(machine),
        ("told by", f"{'nobody yet' if machine.source == NOBODY else machine.source}, on {machine.node}"),
    ]


def pressure(machine: Machine) -> Fields:
    """The pressure of a machine, and what it therefore holds back, refuses or does less often."""
    if not machine.pressure:
        return []
    told = "; ".join(one.says for one in machine.pressure)
    follows = [*(["heavy queues rest", "all queues but light ones rest"][machine.holds - 1 : machine.holds])]
    if machine.pull_interval_ms:
        follows.append(f"workers pull jobs every {machine.pull_interval_ms / 1000:g} s")
    if machine.refuses is not None:
        follows.append("new jobs are refused")
    return [("pressure", told), ("so", ", ".join(follows) or None)]


def verdict(is_so: bool, said: str) -> str:
    """Whether a machine is idle, or charging, and why; or that it is not known."""
    unknown = {NOT_YET: "not known yet", NOT_LOOKED: "not watched: no job waits for it"}
    return unknown.get(said) or f"{'yes' if is_so else 'no'}: {said}"
