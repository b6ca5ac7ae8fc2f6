"""How a task is tried again, as a user writes it."""

from __future__ import annotations

import math
from datetime import timedelta

from holdfast.client.durations import Duration, to_millis
from holdfast.core.errors import InvalidInput
from holdfast.core.limits import check_int, shown
from holdfast.core.retry import RetryMode, RetryPolicy

MOST_RETRIES = 1_000_000


class Retry:
    """A retry policy: `retries` more tries after the first one, with growing pauses in between.

    `mode="requeue"` runs the same job again; `mode="chain"` ends it and continues with a new one. `infra` is the budget
    for failures of the machine (a killed process among them); with 0 a job never runs twice. Exceptions listed in
    `permanent` fail the job at once.

    >>> Retry(5, initial=0.5, cap=timedelta(minutes=1), permanent=(KeyError,)).policy.retries
    5
    """

    def __init__(
        self,
        retries: int,
        *,
        initial: Duration = 2.0,
        factor: float = 2.0,
        cap: Duration = timedelta(hours=1),
        mode: str = "requeue",
        infra: int = 3,
        permanent: tuple[type[BaseException], ...] = (),
    ) -> None:
        if mode not in ("requeue", "chain"):
            raise InvalidInput(f"mode {shown(mode)} is not valid: use 'requeue' or 'chain'")
        if not isinstance(factor, int | float) or not math.isfinite(factor) or factor < 1:
            raise InvalidInput(f"factor {shown(factor)} is not valid: use a number of at least 1")
        for kind in permanent:
            if not (isinstance(kind, type) and issubclass(kind, BaseException)):
                raise InvalidInput(f"permanent {shown(kind)} is not valid: list exception types")
        self.permanent = tuple(permanent)
        self.policy = RetryPolicy(
            retries=check_int("retries", retries, 0, MOST_RETRIES),
            initial_ms=to_millis("initial", initial),
            factor=float(factor),
            cap_ms=to_millis("cap", cap),
            mode=RetryMode(mode.upper()),
            infra=check_int("infra", infra, 0, MOST_RETRIES),
        )

    @staticmethod
    def of(value: Retry | int) -> Retry:
        """`retry=3` means `retry=Retry(3)`."""
        return value if isinstance(value, Retry) else Retry(value)

    def __repr__(self) -> str:
        return f"Retry({self.policy})"
