"""The option `retry`: how jobs are tried again, as a user writes it."""

from __future__ import annotations

from datetime import timedelta

from holdfast.core.errors import InvalidInput
from holdfast.core.rules import limits
from holdfast.core.rules.rule import ChoiceRule
from holdfast.core.rules.units import Duration
from holdfast.core.rules.value_rules import DURATION, FACTOR, RETRIES
from holdfast.core.values.retry import RetryMode, RetryPolicy

MODE = ChoiceRule(mode.lower() for mode in RetryMode)


class Retry:
    """A retry policy: `retries` more tries after the first one, with growing pauses in between.

    `mode="requeue"` runs the same job again; `mode="chain"` ends it and continues with a new one. `infra` is the budget
    for failures of the machine (a killed process among them); with 0 a job whose process died is never run again, while
    an orderly stop still gives it back. Exceptions listed in `permanent` (a type, or several as for `except`) fail the
    job at once. Durations are seconds, timedeltas or texts such as "1h30m".

    >>> from datetime import timedelta
    >>> from holdfast import Holdfast, Retry
    >>> hf = Holdfast("work.db")
    >>> @hf.task(retry=Retry(5, initial=0.5, cap=timedelta(minutes=1), permanent=(KeyError,)))
    ... def fetch(url: str) -> None: ...
    >>> @hf.task(retry=3)
    ... def clean() -> None: ...
    >>> Retry(3)
    Retry(3, initial=2.0, factor=2.0, cap=3600.0, mode='requeue', infra=3)
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
        permanent: type[BaseException] | tuple[type[BaseException], ...] = (),
    ) -> None:
        MODE.check("mode", mode)
        self.permanent = _types(permanent)
        self.policy = RetryPolicy(
            retries=RETRIES.check("retries", retries),
            initial_ms=DURATION.millis("initial", initial),
            factor=float(FACTOR.check("factor", factor)),
            cap_ms=DURATION.millis("cap", cap),
            mode=RetryMode(mode.upper()),
            infra=RETRIES.check("infra", infra),
        )

    @classmethod
    def of(cls, value: Retry | int, what: str = "retry") -> Retry:
        """`retry=3` means `retry=Retry(3)`."""
        if isinstance(value, Retry):
            return value
        if not RETRIES.allows(value):
            raise RETRIES.refusal(what, value, f"{RETRIES.says}, or a Retry(…)")
        return cls(value)

    def __repr__(self) -> str:
        policy = self.policy
        timing = f"initial={policy.initial_ms / 1000}, factor={policy.factor}, cap={policy.cap_ms / 1000}"
        names = "".join(f"{kind.__name__}, " for kind in self.permanent)
        permanent = f", permanent=({names.strip()})" if names else ""
        return f"Retry({policy.retries}, {timing}, mode={policy.mode.lower()!r}, infra={policy.infra}{permanent})"


def check_policy(what: str, value: Retry | int) -> RetryPolicy:
    """A policy for jobs whose task is not known here. So it cannot name exceptions."""
    retry = Retry.of(value, what)
    if retry.permanent:
        raise InvalidInput("permanent= belongs to a task, not to its jobs; use @hf.task(retry=Retry(…, permanent=…))")
    return retry.policy


def _types(value: type[BaseException] | tuple[type[BaseException], ...]) -> tuple[type[BaseException], ...]:
    kinds = tuple(value) if isinstance(value, tuple | list | set | frozenset) else (value,)
    for kind in kinds:
        if not (isinstance(kind, type) and issubclass(kind, BaseException)):
            raise InvalidInput(f"permanent {limits.shown(kind)} is not valid: list exception types")
    return kinds
