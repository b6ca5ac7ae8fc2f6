"""Groups and dependencies: what the end of one job means for those that wait for it.

DONE is success, and every other terminal state is failure. In a retry chain the last link counts.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sized
from enum import StrEnum

from msgspec import Struct

from holdfast.core.job import TERMINAL, JobId, StateName
from holdfast.core.rules.value_rules import JOBS

MOST_MEMBERS = JOBS.most
LEFT_OUT_CODE = "ERR_LEFT_OUT"
# Members in these states are not run again with their group.
STAYS = (StateName.DONE, StateName.SUPERSEDED)

_PREDECESSOR, _ENDED_AS = "predecessor ", " ended as "


class GroupMode(StrEnum):
    """All members at once, or one after the other."""

    PARALLEL = "parallel"
    SEQUENTIAL = "sequential"


class OnFailure(StrEnum):
    """What a failed member of a sequential group means for the next ones."""

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
    """What a dependency waits for: success, or any end."""

    DONE = "done"
    ENDED = "ended"


class Dependency(Struct, frozen=True):
    """The job must not start before another one is done, or has ended in any way."""

    job_id: JobId
    needs: Needs = Needs.DONE


class DependencyTurn(StrEnum):
    """What happens to a waiting job when the one it waits for has ended.

    If one member of a group is cancelled alone, it was left out. For the next ones it counts as done.
    """

    START = "start"
    CANCEL = "cancel"
    CANCEL_ALL = "cancel all"


def check_count(jobs: Sized) -> None:
    """Refuse more jobs than a group may be made of at once."""
    JOBS.check_count("jobs", jobs)


def why_cancelled(predecessor: JobId, state: StateName) -> str:
    """The reason of a job that is cancelled because the one it waited for did not end well."""
    return f"{_PREDECESSOR}{predecessor}{_ENDED_AS}{state}"


def failed_predecessor(reason: str | None) -> JobId | None:
    """The job in a reason that `why_cancelled` made. None for other reasons."""
    if reason is None or not reason.startswith(_PREDECESSOR):
        return None
    job_id, found, _ = reason.removeprefix(_PREDECESSOR).partition(_ENDED_AS)
    return job_id if found else None


def next_turn(on_failure: OnFailure, predecessor: StateName) -> DependencyTurn:
    """What the next member of a sequential group does once its predecessor's last link has ended."""
    if predecessor is StateName.DONE:
        return DependencyTurn.START
    match on_failure:
        case OnFailure.STOP:
            return DependencyTurn.CANCEL_ALL
        case OnFailure.CONTINUE:
            return DependencyTurn.START
        case OnFailure.SKIP:
            return DependencyTurn.CANCEL


def dependency_turn(needs: Needs, parent: StateName) -> DependencyTurn:
    """What a dependent job does once the job it depends on has ended."""
    return DependencyTurn.START if needs is Needs.ENDED or parent is StateName.DONE else DependencyTurn.CANCEL


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
    """How far a group is, from 0 to 1. An ended member counts as one, a running one by its progress."""
    shares = [_share(state, progress) for state, progress in last_links]
    return sum(shares) / len(shares) if shares else 1.0


def _share(state: StateName, progress: float) -> float:
    if state in TERMINAL:
        return 1.0
    return progress if state is StateName.RUNNING else 0.0
