"""What the gates of a job look at: its queue, the machines and workers that could run it, and its place in line."""

from __future__ import annotations

from msgspec import Struct

from holdfast.core.gates.breaker import Breaker
from holdfast.core.gates.queue_gates import QueueFacts
from holdfast.core.job import JobId, Millis
from holdfast.core.jobs.stored_job import Job
from holdfast.core.rules.tokens import NO_TOKENS, Tokens


class ReservationFacts(Struct, frozen=True):
    """A reservation of the queue, or of everything. Until it is granted, it waits for what runs there.

    `in_line` is how many others wait to reserve the same.
    """

    reserved_by: str
    scope: str
    expires_at: Millis
    is_granted: bool = True
    in_line: int = 0


class MachineFacts(Struct, frozen=True):
    """A machine where the job could run. Each finding has a sentence for people."""

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


class MachineTokens(Struct, frozen=True):
    """The tokens of a machine where the job could run. `kept` are kept for the job `kept_for`."""

    node: str
    capacity: Tokens
    in_use: Tokens
    kept: Tokens = NO_TOKENS
    kept_for: JobId | None = None

    @property
    def free(self) -> Tokens:
        """The tokens that no run uses."""
        return self.capacity.less(self.in_use)


class Tie(Struct, frozen=True):
    """The only machine that may run the job. `is_served`: a worker there offers it. `is_alive`: it has a session."""

    node: str
    node_id: str
    is_served: bool
    is_alive: bool
    seen_at: Millis


class PlaceInLine(Struct, frozen=True, kw_only=True):
    """The place in line of a job that no other gate holds back. `is_next`: a worker takes it when it next asks.

    `slots` could take it. `first` is the job that is taken instead. `kept_for` is a job that must run alone. `ahead` is
    how many jobs of its own tenant go before it. `others` are tenants that take turns with its own. `share` is how many
    jobs of its tenant a session may run at once. It is None unless each session with a free slot runs so many.
    """

    is_next: bool
    slots: int
    free_slots: int
    first: JobId | None = None
    kept_for: JobId | None = None
    ahead: int = 0
    others: tuple[str, ...] = ()
    share: int | None = None


class GateFacts(Struct, frozen=True, kw_only=True):
    """What the gates of one job depend on, read together with it.

    `queue` decides the gates of its queue. `pause_reason`, `reserved`, `ran_out`, `breaker` and `rate_opens_at` only
    explain them: `ran_out` is a reservation whose time is over although its maker goes on.
    `waits_for` are jobs that have not ended. `event_attributes` is what the awaited event must have; None: it has come,
    or none is awaited. `offered_on` are queues of which workers take its task, if none takes it of its own queue.
    `pulls_at` is when workers on a busy machine take jobs again, if none does now. `place` is read only while no other
    gate is closed.
    """

    now: Millis
    queue: QueueFacts
    pause_reason: str | None = None
    reserved: ReservationFacts | None = None
    ran_out: ReservationFacts | None = None
    breaker: Breaker | None = None
    rate_opens_at: Millis | None = None
    waits_for: tuple[JobId, ...] = ()
    event_attributes: dict[str, str] | None = None
    machines: tuple[MachineFacts, ...] = ()
    pulls_at: Millis | None = None
    tie: Tie | None = None
    is_offered: bool = True
    offered_on: tuple[str, ...] = ()
    busy_with: JobId | None = None
    must_run_alone: bool = False
    kept_for: JobId | None = None
    tokens: tuple[MachineTokens, ...] = ()
    place: PlaceInLine | None = None
