"""What the gates of a job look at: its queue, the machines and workers that could run it, and its place in line."""

from __future__ import annotations

from msgspec import Struct

from holdfast.core.breaker import Breaker
from holdfast.core.job import Job, JobId, Millis
from holdfast.core.rate import Rate
from holdfast.core.tokens import NO_TOKENS, Tokens


class Reserved(Struct, frozen=True):
    """Somebody keeps the queue, or everything, for himself; until it is granted, he waits for what runs there."""

    reserved_by: str
    scope: str
    expires_at: Millis
    is_granted: bool = True
    in_line: int = 0


class Place(Struct, frozen=True):
    """A machine where the job could run: what its probe has found, each with a sentence for people."""

    node: str
    is_idle: bool
    is_charging: bool
    idle_says: str
    charging_says: str
    is_held: bool = False
    pressure_says: str = ""

    def suits(self, job: Job) -> bool:
        """Whether the machine is what the job waits for."""
        is_right = self.is_idle >= job.wait_for_idle and self.is_charging >= job.require_charging
        return is_right and not self.is_held


class TokenPlace(Struct, frozen=True):
    """The tokens of a machine where the job could run: all of them, what runs there use, what is kept for others."""

    node: str
    capacity: Tokens
    in_use: Tokens
    kept: Tokens = NO_TOKENS
    kept_for: JobId | None = None


class Tie(Struct, frozen=True):
    """The machine that alone may run the job: whether a worker there offers it, whether anybody is there at all."""

    node: str
    node_id: str
    is_served: bool
    is_alive: bool
    seen_at: Millis


class Turn(Struct, frozen=True, kw_only=True):
    """Where a job stands that nothing else holds. `is_next`: a worker that could take it does so when it next asks.

    `slots` are those that could take it. Otherwise `first` is who is taken, `kept_for` a job that must run with nothing
    beside it, `ahead` how many of its own tenant go before it, and `others` are tenants that take turns with its own.
    `share` is how many jobs of its tenant may run at once, if so many do wherever a slot is free.
    """

    is_next: bool
    slots: int
    free_slots: int
    first: JobId | None = None
    kept_for: JobId | None = None
    ahead: int = 0
    others: tuple[str, ...] = ()
    share: int | None = None


class World(Struct, frozen=True, kw_only=True):
    """What the gates of one job depend on, read together with it.

    `event_attributes` is what the event must have that the job waits for; None: it has come, or none is waited for.
    `ran_out` is a reservation whose time is over although whoever made it goes on. `offered_on` are the queues that
    its task is taken from, where its own is not among them. `breaker` is that of its queue, if it has opened.
    `tie` is the machine that it is tied to. `pulls_at` is when workers on a busy machine take jobs again, if none does
    before. `turn` is not asked for while another gate is closed.
    """

    now: Millis
    waits_for: tuple[JobId, ...] = ()
    event_attributes: dict[str, str] | None = None
    places: tuple[Place, ...] = ()
    paused_at: Millis | None = None
    pause_reason: str | None = None
    reserved: Reserved | None = None
    ran_out: Reserved | None = None
    breaker: Breaker | None = None
    is_probing: bool = False
    concurrency: int | None = None
    running: int = 0
    rate: Rate | None = None
    started: int = 0
    rate_opens_at: Millis | None = None
    tie: Tie | None = None
    is_offered: bool = True
    offered_on: tuple[str, ...] = ()
    busy_with: JobId | None = None
    must_run_alone: bool = False
    kept_for: JobId | None = None
    pulls_at: Millis | None = None
    token_places: tuple[TokenPlace, ...] = ()
    turn: Turn | None = None
