"""Queues, and the tenants that share them."""

from __future__ import annotations

from msgspec import Struct

from holdfast.core.declared.setting import setting_fields
from holdfast.core.gates.breaker import USUAL_FAILURES, USUAL_OPEN_MS, Breaker
from holdfast.core.gates.queue import Overflow, QueueClass
from holdfast.core.job import Millis
from holdfast.core.settings.queue_settings import SETTINGS
from holdfast.core.values.rate import Rate
from holdfast.core.values.retry import RetryPolicy


@setting_fields(SETTINGS)
class Queue(Struct, frozen=True, kw_only=True):
    """What is set for a queue; None stands for no limit, and for what its jobs say themselves.

    `tripped` is its breaker, while that is open or half-open.
    """

    name: str
    concurrency: int | None = None
    rate_limit: int | None = None
    rate_window_ms: Millis | None = None
    max_length: int | None = None
    overflow: Overflow = Overflow.REJECT
    queue_class: QueueClass = QueueClass.NORMAL
    retry: RetryPolicy | None = None
    timeout_ms: Millis | None = None
    breaker: int = USUAL_FAILURES
    breaker_for_ms: Millis = USUAL_OPEN_MS
    paused_at: Millis | None = None
    pause_reason: str | None = None
    tripped: Breaker | None = None

    @property
    def rate(self) -> Rate | None:
        """How many jobs it may start in a time."""
        if self.rate_limit is None or self.rate_window_ms is None:
            return None
        return Rate(self.rate_limit, self.rate_window_ms)


class Crowded(Struct, frozen=True):
    """A row of `queue_pressure`."""

    queue: str
    reading: str
    says: str
    since: Millis


class TenantView(Struct, frozen=True, kw_only=True):
    """A tenant in a queue: the weight that was set and the one that counts now, and its share of the queue.

    `share` is its part among the tenants that wait for a turn at this moment. 0 while it waits for none.
    """

    queue: str
    tenant: str
    weight: int
    weight_now: float
    share: float
    active_until: Millis | None
    is_waiting: bool
    virtual_time: float
    starts: int
