"""Groups and dependencies: what the end of one job means for those that wait for it.

DONE is success and every other terminal state is failure. In a retry chain the last link speaks for all.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from enum import StrEnum

from holdfast.core.job import TERMINAL, JobId, StateName

LEFT_OUT_CODE = "ERR_LEFT_OUT"

_PREDECESSOR, _ENDED_AS = "predecessor ", " ended as "


class GroupMode(StrEnum):
    """All members at once, or one after the other."""

    PARALLEL = "parallel"
    SEQUENTIAL = "sequential"


class OnFailure(StrEnum):
    """What a failed member of a sequential group means for those behind it."""

    STOP = "stop"
    CONTINUE = "continue"
    SKIP = "skip"


class GroupStatus(StrEnum):
    """OPEN while any member is not terminal."""

    OPEN = "OPEN"
    COMPLETED = "COMPLETED"
    PARTIAL = "PARTIAL"
    CANCELLED = "CANCELLED"


class Needs(StrEnum):
    """What a dependency waits for: success, or the end whatever the outcome."""

    DONE = "done"
    ENDED = "ended"


class Turn(StrEnum):
    """What happens to a waiting job when the one it waits for has ended.

    A member of a group that is cancelled alone was left out: for those behind it, it counts as done.
    """

    START = "start"
    CANCEL = "cancel"
    CANCEL_ALL = "cancel all"


def why_cancelled(predecessor: JobId, state: StateName) -> str:
    """The reason of a job that is cancelled because the one it waited for did not end well."""
    return f"{_PREDECESSOR}{predecessor}{_ENDED_AS}{state}"


def failed_predecessor(reason: str | None) -> JobId | None:
    """The job that the reason of a cancelled one names, if it is that of `why_cancelled`."""
    if reason is None or not reason.startswith(_PREDECESSOR):
        return None
    job_id, found, _ = reason.removeprefix(_PREDECESSOR).partition(_ENDED_AS)
    return job_id if found else None


def next_turn(on_failure: OnFailure, predecessor: StateName) -> Turn:
    """What the next member of a sequential group does once its predecessor's last link has ended."""
    if predecessor is StateName.DONE:
        return Turn.START
    match on_failure:
        case OnFailure.STOP:
            return Turn.CANCEL_ALL
        case OnFailure.CONTINUE:
            return Turn.START
        case OnFailure.SKIP:
            return Turn.CANCEL


def dependency_turn(needs: Needs, parent: StateName) -> Turn:
    """What a dependent job does once the job it depends on has ended."""
    return Turn.START if needs is Needs.ENDED or parent is StateName.DONE else Turn.CANCEL


def group_status(last_links: Collection[StateName]) -> GroupStatus:
    """The state of a whole group, judged on the last link of each member."""
    if any(state not in TERMINAL for state in last_links):
        return GroupStatus.OPEN
    if all(state is StateName.DONE for state in last_links):
        return GroupStatus.COMPLETED
    if StateName.DONE not in last_links and StateName.CANCELLED in last_links:
        return GroupStatus.CANCELLED
    return GroupStatus.PARTIAL


def group_progress(last_links: Iterable[tuple[StateName, float]]) -> float:
    """How far a group is, from 0 to 1: who has ended counts as a whole, who runs by his own progress."""
    shares = [_share(state, progress) for state, progress in last_links]
    return sum(shares) / len(shares) if shares else 1.0


def _share(state: StateName, progress: float) -> float:
    if state in TERMINAL:
        return 1.0
    return progress if state is StateName.RUNNING else 0.0
