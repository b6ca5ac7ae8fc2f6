"""What becomes of a job whose run failed: retry at, park, or fail."""

from __future__ import annotations

from enum import StrEnum
from typing import TypeAlias

from msgspec import Struct

POISON_DEATHS = 3
JITTER = 0.1


class FailureKind(StrEnum):
    """What is to blame for a failure: the moment, the request, or the machine."""

    TRANSIENT = "transient"
    PERMANENT = "permanent"
    INFRA = "infra"


class RetryMode(StrEnum):
    """REQUEUE: the same job runs again. CHAIN: the failed job ends and a new one continues it."""

    REQUEUE = "REQUEUE"
    CHAIN = "CHAIN"


class Failure(Struct, frozen=True, omit_defaults=True):
    """Why a run failed. `code` is stable and greppable, `message` is for people.

    `wait_ms`: the other side asked to wait so long. A retry comes no sooner.
    """

    kind: FailureKind
    code: str
    message: str
    wait_ms: int = 0


class Tries(Struct, frozen=True):
    """Tries a job has used up, by kind. `deaths` are the infra tries that took their process down alone."""

    transient: int = 0
    infra: int = 0
    deaths: int = 0

    def charged(self, kind: FailureKind, *, death: bool = False) -> Tries:
        """These tries and one more of `kind`. A permanent failure needs no budget: it is the last."""
        match kind:
            case FailureKind.INFRA:
                return Tries(self.transient, self.infra + 1, self.deaths + death)
            case FailureKind.TRANSIENT:
                return Tries(self.transient + 1, self.infra, self.deaths)
            case FailureKind.PERMANENT:
                return self


class RetryPolicy(Struct, frozen=True):
    """How often and how patiently a job is tried again after the first try."""

    retries: int = 0
    initial_ms: int = 2_000
    factor: float = 2.0
    cap_ms: int = 3_600_000
    mode: RetryMode = RetryMode.REQUEUE
    infra: int = 3

    def backoff(self, nth: int, jitter: float) -> int:
        """Milliseconds before the retry that follows the `nth` try. `jitter` in [-1, 1] spreads many of them."""
        try:
            delay = min(self.initial_ms * self.factor ** (max(nth, 1) - 1), self.cap_ms)
        except OverflowError:
            delay = self.cap_ms if self.initial_ms else 0
        return max(0, min(round(delay * (1 + JITTER * jitter)), self.cap_ms))


class RetryAt(Struct, frozen=True):
    """Try again at this moment."""

    at: int


class Park(Struct, frozen=True):
    """End it as a poison pill: running it again would take another process down."""

    reason: str


class Fail(Struct, frozen=True):
    """End it: no try is left, or none would help."""


Verdict: TypeAlias = RetryAt | Park | Fail


def after_failure(policy: RetryPolicy, tries: Tries, failure: Failure, now: int, jitter: float) -> Verdict:
    """What becomes of a job whose run just failed; `tries` includes that run."""
    match failure.kind:
        case FailureKind.PERMANENT:
            return Fail()
        case FailureKind.INFRA if tries.infra > policy.infra:
            return Fail()
        case FailureKind.INFRA if tries.deaths >= POISON_DEATHS:
            return Park(f"its process died with it {tries.deaths} times while nothing else ran there")
        case FailureKind.INFRA:
            return RetryAt(now + policy.backoff(tries.infra, jitter))
        case FailureKind.TRANSIENT if tries.transient > policy.retries:
            return Fail()
        case FailureKind.TRANSIENT:
            return RetryAt(now + max(policy.backoff(tries.transient, jitter), failure.wait_ms))
