"""What workspaces are made of, where they run, and how many may run."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from holdfast.core.job import Millis
from holdfast.core.values.retry import RetryPolicy
from holdfast.core.workspaces.states import MOST_FAILURES, Operation

STANDBY_TTL_S = 300
ARCHIVE_TTL_S = 86_400
LOCAL_USER = "local"  # the owner of what is made by the socket, or with the token of the home
TRY_MS: Millis = 5 * 60_000  # how long one try of an operation may take
LONG_TRY_MS: Millis = 30 * 60_000  # one that reads or writes the whole home


class InstanceBackend(StrEnum):
    """What the program of a workspace runs in."""

    LOCAL_PROCESS = "local-process"
    LOCAL_DOCKER = "local-docker"
    K8S = "k8s"


class StorageBackend(StrEnum):
    """What the home of a workspace is kept in."""

    LOCAL_DIR = "local-dir"
    DOCKER_VOLUME = "docker-volume"
    MINIO = "minio"


class WorkspaceLimits(Struct, frozen=True):
    """How many workspaces are or shall be RUNNING at most, of one owner and in all. `no_archive`: why there is none."""

    per_user: int = 2
    in_all: int = 100
    no_archive: str | None = "no archive is set: give the folder for it as archive in [workspaces] of holdfast.toml"


class OperationOrder(Struct, frozen=True):
    """What the job of an operation is to do: its payload. `op_id` is fresh for each plan, and kept by retries."""

    workspace_id: str
    operation: Operation
    op_id: str


def try_ms(operation: Operation) -> Millis:
    """How long one try of an operation may take."""
    moves_the_home = (Operation.ARCHIVING, Operation.RESTORING, Operation.CREATE_EMPTY_ARCHIVE)
    return LONG_TRY_MS if operation in moves_the_home else TRY_MS


def policy_of(failures: int) -> RetryPolicy:
    """How often an operation is tried again: as often as failures in a row are left, after 2 and 8 seconds.

    Its worker may die more often, as the workspace is not to blame for that.
    """
    return RetryPolicy(
        retries=max(0, MOST_FAILURES - 1 - failures), initial_ms=2_000, factor=4.0, cap_ms=30_000, infra=10
    )
