"""Conditions: what is known of the parts of a workspace, and since when.

Each has a status: True, False, or None while it is not known. What follows from the first three is `policy.healthy`.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import TypeAlias

from msgspec import Struct

from holdfast.core.job import Millis
from holdfast.core.workspaces.states import ErrorReason, has_failed_for_good


class ConditionName(StrEnum):
    """The parts of a workspace that are observed, and whether all is well with it."""

    VOLUME = "storage.volume_ready"
    ARCHIVE = "storage.archive_ready"
    INSTANCE = "infra.container_ready"
    HEALTHY = "policy.healthy"


class ConditionReason(StrEnum):
    """Why a condition has its status."""

    NOT_OBSERVED = "NotObserved"
    VOLUME_PROVISIONED = "VolumeProvisioned"
    VOLUME_NOT_FOUND = "VolumeNotFound"
    INSTANCE_RUNNING = "ContainerRunning"
    INSTANCE_NOT_RUNNING = "ContainerNotRunning"
    ARCHIVE_UPLOADED = "ArchiveUploaded"
    ARCHIVE_CORRUPTED = "ArchiveCorrupted"
    ARCHIVE_EXPIRED = "ArchiveExpired"
    ARCHIVE_NOT_FOUND = "ArchiveNotFound"
    ARCHIVE_UNREACHABLE = "ArchiveUnreachable"
    ARCHIVE_TIMEOUT = "ArchiveTimeout"
    NO_ARCHIVE = "NoArchive"
    ALL_MET = "AllConditionsMet"
    INSTANCE_WITHOUT_VOLUME = "ContainerWithoutVolume"
    ARCHIVE_ACCESS_ERROR = "ArchiveAccessError"
    FAILED_FOR_GOOD = "FailedForGood"


# An archive of which one of these is told will never be there again. With the others it may be, after a while.
LOST_ARCHIVES = frozenset(
    {ConditionReason.ARCHIVE_CORRUPTED, ConditionReason.ARCHIVE_EXPIRED, ConditionReason.ARCHIVE_NOT_FOUND}
)
AWAITED_ARCHIVES = frozenset({ConditionReason.ARCHIVE_UNREACHABLE, ConditionReason.ARCHIVE_TIMEOUT})


class Observation(Struct, frozen=True):
    """What was observed of one part, now."""

    status: bool | None
    reason: ConditionReason
    message: str = ""


class WorkspaceCondition(Struct, frozen=True):
    """What is known of one part. `last_transition_time` is when its status became what it is."""

    status: bool | None
    reason: ConditionReason
    message: str
    last_transition_time: Millis


Observations: TypeAlias = Mapping[ConditionName, Observation]
Conditions: TypeAlias = Mapping[ConditionName, WorkspaceCondition]

NOT_OBSERVED = Observation(None, ConditionReason.NOT_OBSERVED, "it did not answer")


def health_of(observed: Observations, reason: ErrorReason | None, failures: int) -> Observation:
    """Whether all is well with a workspace, by the first rule that does not hold. What is not known breaks none."""
    instance, volume, archive = (
        observed.get(name, NOT_OBSERVED)
        for name in (ConditionName.INSTANCE, ConditionName.VOLUME, ConditionName.ARCHIVE)
    )
    if instance.status is True and volume.status is False:
        message = "its instance runs, but its home is gone"
        return Observation(False, ConditionReason.INSTANCE_WITHOUT_VOLUME, message)
    if archive.status is False and archive.reason in LOST_ARCHIVES:
        return Observation(False, ConditionReason.ARCHIVE_ACCESS_ERROR, archive.message)
    if has_failed_for_good(reason, failures):
        message = str(reason or ErrorReason.RETRY_EXCEEDED)
        return Observation(False, ConditionReason.FAILED_FOR_GOOD, message)
    return Observation(True, ConditionReason.ALL_MET)


def updated(old: Conditions, observed: Observations, now: Millis) -> dict[ConditionName, WorkspaceCondition]:
    """The conditions after what was observed. The time of a condition moves only with its status."""
    return {name: _after(old.get(name), observation, now) for name, observation in observed.items()}


def _after(old: WorkspaceCondition | None, observation: Observation, now: Millis) -> WorkspaceCondition:
    is_same = old is not None and old.status == observation.status
    since = old.last_transition_time if old is not None and is_same else now
    return WorkspaceCondition(observation.status, observation.reason, observation.message, since)
