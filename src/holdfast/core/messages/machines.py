"""Machines, their names and their tokens."""

from __future__ import annotations

from msgspec import Struct

from holdfast.core.gates.pressure import Pressure
from holdfast.core.job import Millis
from holdfast.core.machine.machine import JudgedMachine
from holdfast.core.machine.measures import Thresholds
from holdfast.core.machine.readings import Simulation
from holdfast.core.rules.tokens import USUAL_TIMEOUT_MS, Tokens


class Machine(Struct, frozen=True, kw_only=True):
    """A machine as its probe sees it: both verdicts, each in words too, the source, and since when it is so.

    `simulation` is what it is made to look like. `pressure` is what it suffers from, by the `thresholds` of its probe.
    Because of that it `holds` back nothing (0), heavy queues (1), or all but light ones (2). Each worker takes jobs
    only every `pull_interval_ms`. It `refuses` new jobs until a moment that the probe moves on.
    """

    node: str
    node_id: str
    is_idle: bool
    idle: str
    is_charging: bool
    charging: str
    source: str
    updated_at: Millis
    simulation: Simulation | None = None
    holds: int = 0
    pull_interval_ms: Millis = 0
    pressure: list[Pressure] = []
    refuses: str | None = None
    refuses_until: Millis | None = None
    thresholds: Thresholds = Thresholds()

    @property
    def judged(self) -> JudgedMachine:
        """The verdicts alone."""
        return JudgedMachine(**{name: getattr(self, name) for name in JudgedMachine.__struct_fields__})

    def refusal(self, now: Millis) -> str | None:
        """Why it refuses new jobs at this moment, in words; None: it takes them in."""
        if self.refuses is None or self.refuses_until is None or self.refuses_until <= now:
            return None
        says = next((one.says for one in self.pressure if one.reading == self.refuses), self.refuses)
        return f"new jobs are refused on {self.node}: {says}"


class KnownNode(Struct, frozen=True):
    """A machine that has been here. `seen_at` is when a session of it last began."""

    number: int
    id: str
    name: str
    seen_at: Millis


class TokenSetting(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The tokens that a session says its machine has. `is_default`: they were worked out, not set.

    A job that does not fit lets others pass for `timeout_ms`; then room is kept for it.
    """

    tokens: Tokens
    timeout_ms: Millis = USUAL_TIMEOUT_MS
    is_default: bool = True


class NodeTokens(Struct, frozen=True, kw_only=True):
    """A machine and its tokens: all that it has, and what runs there use.

    `set_by`: `default` was worked out from its cores, `settings` comes from the daemon's file, `hand` was set by a
    person.
    """

    node: str
    node_id: str
    capacity: Tokens
    in_use: Tokens
    runs: int
    timeout_ms: Millis
    set_by: str
    set_at: Millis
