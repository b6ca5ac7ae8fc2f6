"""What a workspace is, and what is to be done with it next: from one set of facts, without looking anywhere.

    observations -> healthy -> phase -> plan -> (the operation runs as a job) -> observations -> complete?

An operation is complete when what is observed says so, not when its job says that it is done.
"""

from __future__ import annotations

from msgspec import Struct

from holdfast.core.job import Millis
from holdfast.core.workspaces.conditions import (
    AWAITED_ARCHIVES,
    NOT_OBSERVED,
    ConditionName,
    Observation,
    Observations,
    health_of,
)
from holdfast.core.workspaces.states import MOST_FAILURES, DesiredState, ErrorReason, Operation, Phase

# After a STARTING, so much of RUNNING makes earlier failures forgotten.
SETTLED_MS: Millis = 10 * 60_000
# After failures, what is begun once more is begun after such pauses.
FIRST_PAUSE_MS: Millis = 2_000
LONGEST_PAUSE_MS: Millis = 5 * 60_000
OBSERVED = (ConditionName.VOLUME, ConditionName.ARCHIVE, ConditionName.INSTANCE)


class WorkspaceFacts(Struct, frozen=True, kw_only=True):
    """All that a decision about a workspace needs.

    `phase` and `operation` are those that are stored. `volume` is the home that the row names, `archive_key` the
    archive that it names, and `restore_marker` the archive that the home was restored from. `has_leftovers`: there are
    folders of it besides its home, which tries to make one have left. `archive_is_new`: the operation under way has
    made the archive that the row names.
    """

    observed: Observations
    desired: DesiredState
    phase: Phase = Phase.PENDING
    operation: Operation = Operation.NONE
    error_reason: ErrorReason | None = None
    failures: int = 0
    volume: str | None = None
    archive_key: str | None = None
    restore_marker: str | None = None
    has_leftovers: bool = False
    archive_is_new: bool = False

    def of(self, name: ConditionName) -> Observation:
        """What was observed of a part."""
        return self.observed.get(name, NOT_OBSERVED)

    @property
    def is_known(self) -> bool:
        """Whether every part has answered. Beside a home that counts, the archive is not needed."""
        needed = (name for name in OBSERVED if name is not ConditionName.ARCHIVE or self.volume is None)
        return all(self.of(name).status is not None for name in needed)

    @property
    def has_instance(self) -> bool:
        """Whether an instance runs."""
        return self.of(ConditionName.INSTANCE).status is True

    @property
    def has_volume(self) -> bool:
        """Whether the home is there."""
        return self.of(ConditionName.VOLUME).status is True

    @property
    def has_archive(self) -> bool:
        """Whether the archive is there."""
        return self.of(ConditionName.ARCHIVE).status is True

    @property
    def health(self) -> Observation:
        """Whether all is well, and why not."""
        return health_of(self.observed, self.error_reason, self.failures)


def loss_of(facts: WorkspaceFacts) -> ErrorReason | None:
    """What is lost: a home that the row names and that is certainly gone. It is never replaced by an empty one.

    What shall be deleted cannot be lost. That wish cannot be taken back.
    """
    is_gone = facts.of(ConditionName.VOLUME).status is False
    is_wanted = facts.desired is not DesiredState.DELETED
    return ErrorReason.DATA_LOST if facts.volume is not None and is_gone and is_wanted else None


def phase_of(facts: WorkspaceFacts) -> Phase:
    """What the workspace is. While a part is not known it stays what it was."""
    if not facts.is_known:
        return facts.phase
    if facts.health.status is False:
        return Phase.ERROR
    if facts.has_volume:
        return Phase.RUNNING if facts.has_instance else Phase.STANDBY
    if facts.desired is DesiredState.DELETED:
        # Its archive is left over.
        return Phase.PENDING if facts.has_instance or facts.has_leftovers else Phase.DELETED
    return Phase.ARCHIVED if facts.has_archive or _is_archive_awaited(facts) else Phase.PENDING


def _is_archive_awaited(facts: WorkspaceFacts) -> bool:
    """Whether the archive that the row names cannot be reached now."""
    return facts.archive_key is not None and facts.of(ConditionName.ARCHIVE).reason in AWAITED_ARCHIVES


_PLANS: dict[Phase, dict[DesiredState, Operation]] = {
    Phase.PENDING: {
        DesiredState.ARCHIVED: Operation.CREATE_EMPTY_ARCHIVE,
        DesiredState.STANDBY: Operation.PROVISIONING,
        DesiredState.RUNNING: Operation.PROVISIONING,
        DesiredState.DELETED: Operation.DELETING,
    },
    Phase.ARCHIVED: {
        DesiredState.STANDBY: Operation.RESTORING,
        DesiredState.RUNNING: Operation.RESTORING,
    },
    Phase.STANDBY: {
        DesiredState.ARCHIVED: Operation.ARCHIVING,
        DesiredState.RUNNING: Operation.STARTING,
        DesiredState.DELETED: Operation.DELETING,
    },
    Phase.RUNNING: {
        DesiredState.ARCHIVED: Operation.STOPPING,
        DesiredState.STANDBY: Operation.STOPPING,
        # And then, in STANDBY, DELETING.
        DesiredState.DELETED: Operation.STOPPING,
    },
    Phase.ERROR: {DesiredState.DELETED: Operation.DELETING},
    Phase.DELETED: {},
}


_REACHED = {
    Operation.PROVISIONING: Phase.STANDBY,
    Operation.RESTORING: Phase.STANDBY,
    Operation.STARTING: Phase.RUNNING,
    Operation.STOPPING: Phase.STANDBY,
    Operation.ARCHIVING: Phase.ARCHIVED,
    Operation.CREATE_EMPTY_ARCHIVE: Phase.ARCHIVED,
    Operation.DELETING: Phase.DELETED,
}


def plan(facts: WorkspaceFacts) -> Operation:
    """What is to be done next. Nothing while something is being done, or a part is not known."""
    if facts.operation is not Operation.NONE or not facts.is_known:
        return Operation.NONE
    phase = phase_of(facts)
    wanted = _PLANS[phase].get(facts.desired, Operation.NONE)
    if wanted is Operation.RESTORING and _is_archive_awaited(facts):
        return Operation.NONE
    if phase is Phase.ERROR and wanted is Operation.NONE and facts.has_instance and facts.volume is None:
        return Operation.STOPPING  # An instance that no home belongs to.
    return wanted


def steps(phase: Phase, desired: DesiredState) -> list[Operation]:
    """The operations that lead from a phase to a wish, if nothing goes wrong."""
    found: list[Operation] = []
    while (operation := _PLANS[phase].get(desired, Operation.NONE)) is not Operation.NONE:
        found.append(operation)
        phase = reached(operation)
    return found


def reached(operation: Operation) -> Phase:
    """The phase that a workspace is in when an operation has done its work."""
    return _REACHED[operation]


def is_complete(facts: WorkspaceFacts) -> bool:
    """Whether what is observed says that the operation under way has done its work."""
    match facts.operation:
        case Operation.PROVISIONING:
            return facts.has_volume and facts.volume is not None
        case Operation.RESTORING:
            is_restored = facts.archive_key is not None and facts.restore_marker == facts.archive_key
            return facts.has_volume and is_restored
        case Operation.STARTING:
            return facts.has_volume and facts.has_instance
        case Operation.STOPPING:
            return facts.of(ConditionName.INSTANCE).status is False
        case Operation.ARCHIVING:
            return facts.volume is None and facts.has_archive and facts.archive_is_new
        case Operation.CREATE_EMPTY_ARCHIVE:
            return facts.has_archive and facts.archive_is_new
        case Operation.DELETING:
            is_left = facts.has_volume or facts.has_instance or facts.has_leftovers
            return facts.is_known and not is_left
        case Operation.NONE:
            return False


def after_failure(reason: ErrorReason, failures: int, more: int = 1) -> tuple[ErrorReason, int]:
    """The reason and the count of failures after some more: the last that is allowed is RETRY_EXCEEDED."""
    count = failures + more
    return (ErrorReason.RETRY_EXCEEDED if not reason.is_terminal and count >= MOST_FAILURES else reason), count


def pause_of(planned: Operation, phase: Phase, failures: int) -> Millis:
    """How long a workspace is left alone after a failure before something is begun: longer after each.

    In ERROR that is what comes after the failures that made it one. Otherwise it is the start of what has just ended.
    """
    more = failures - MOST_FAILURES if phase is Phase.ERROR else failures if planned is Operation.STARTING else 0
    return 0 if more <= 0 else min(FIRST_PAUSE_MS * 4 ** min(more - 1, 10), LONGEST_PAUSE_MS)


def failures_after(operation: Operation, failures: int) -> int:
    """The count of failures after an operation is complete. A start may fail later: its instance has to live first."""
    return failures if operation is Operation.STARTING else 0


def is_settled(running_since: Millis, now: Millis) -> bool:
    """Whether an instance has run for so long that earlier failures are forgotten."""
    return now - running_since >= SETTLED_MS
