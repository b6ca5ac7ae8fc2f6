"""The words for a workspace: what it is, what it shall be, what is being done with it, and what went wrong."""

from __future__ import annotations

from enum import StrEnum

MOST_FAILURES = 3  # in a row: with the last of them a workspace is in ERROR


class Phase(StrEnum):
    """What a workspace is, as far as it was observed."""

    PENDING = "PENDING"
    ARCHIVED = "ARCHIVED"
    STANDBY = "STANDBY"
    RUNNING = "RUNNING"
    ERROR = "ERROR"
    DELETED = "DELETED"


class DesiredState(StrEnum):
    """What a person wants a workspace to be."""

    DELETED = "DELETED"
    ARCHIVED = "ARCHIVED"
    STANDBY = "STANDBY"
    RUNNING = "RUNNING"


class Operation(StrEnum):
    """What is being done with a workspace. There is at most one at a time."""

    NONE = "NONE"
    PROVISIONING = "PROVISIONING"
    RESTORING = "RESTORING"
    STARTING = "STARTING"
    STOPPING = "STOPPING"
    ARCHIVING = "ARCHIVING"
    CREATE_EMPTY_ARCHIVE = "CREATE_EMPTY_ARCHIVE"
    DELETING = "DELETING"


class ErrorReason(StrEnum):
    """What went wrong with a workspace."""

    TIMEOUT = "Timeout"
    RETRY_EXCEEDED = "RetryExceeded"
    ACTION_FAILED = "ActionFailed"
    DATA_LOST = "DataLost"
    UNREACHABLE = "Unreachable"
    IMAGE_PULL_FAILED = "ImagePullFailed"
    CONTAINER_WITHOUT_VOLUME = "ContainerWithoutVolume"
    ARCHIVE_CORRUPTED = "ArchiveCorrupted"

    @property
    def is_terminal(self) -> bool:
        """Whether no further try can help. The others count, and the third in a row is RETRY_EXCEEDED."""
        return self in _TERMINAL


_TERMINAL = frozenset(
    {
        ErrorReason.TIMEOUT,
        ErrorReason.RETRY_EXCEEDED,
        ErrorReason.DATA_LOST,
        ErrorReason.IMAGE_PULL_FAILED,
        ErrorReason.CONTAINER_WITHOUT_VOLUME,
        ErrorReason.ARCHIVE_CORRUPTED,
    }
)


def has_failed_for_good(reason: ErrorReason | None, failures: int) -> bool:
    """Whether a workspace stays in ERROR until a person recovers it."""
    return (reason is not None and reason.is_terminal) or failures >= MOST_FAILURES
