"""Which retries are charged when a process dies with runs in it. A job is charged only if it may be to blame."""

from __future__ import annotations

from enum import StrEnum

from holdfast.core.jobs.settle import Broke, Outcome, Yielded
from holdfast.core.values.retry import Failure, FailureKind, RetryPolicy

CRASH_CODE = "ERR_CRASH_RECOVERY"


class Death(StrEnum):
    """How a session ended, as far as that can be known."""

    CRASH = "crash"
    REBOOT = "reboot"
    ORDERLY = "orderly"


def after_death(policy: RetryPolicy, death: Death, company: int, *, has_own_process: bool = False) -> Outcome:
    """The outcome of a run whose session is gone. `company` is how many runs died together, this one included.

    With `infra=0` a job must never run twice, whatever is to blame. A run with a process of its own did not die itself:
    its worker did.
    """
    said = "its worker died" if has_own_process and death is Death.CRASH else _said(death, company)
    failure = Failure(FailureKind.INFRA, CRASH_CODE, said)
    if policy.infra == 0:
        return Broke(failure)
    if death is Death.ORDERLY:
        return Yielded(failure.message)
    if death is Death.REBOOT or company > 1:
        return Broke(failure, charge=False)
    return Broke(failure, death=not has_own_process)


def is_suspect(death: Death, *, has_own_process: bool = False) -> bool:
    """Whether a job that was in a dead process must next run with nothing beside it, to see whether it is to blame.

    A job with a process of its own runs alone anyway.
    """
    return death is Death.CRASH and not has_own_process


def _said(death: Death, company: int) -> str:
    match death:
        case Death.REBOOT:
            return "the machine went down while it ran"
        case Death.ORDERLY:
            return "its process stopped before it ended"
        case Death.CRASH:
            return "its process died" if company == 1 else f"its process died with {company} runs in it"
