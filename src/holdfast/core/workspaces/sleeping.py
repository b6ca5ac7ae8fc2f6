"""When a workspace that nobody uses is stopped, and when its home is archived."""

from __future__ import annotations

from msgspec import Struct

from holdfast.core.job import Millis
from holdfast.core.workspaces.states import DesiredState, Operation, Phase

# After its machine was away nothing is archived at once: a person may be about to come back.
AWAKE_MS: Millis = 10 * 60_000


class SleepFacts(Struct, frozen=True, kw_only=True):
    """What it depends on. `awake_since` is when its controller began, or the clock of its machine was set."""

    phase: Phase
    desired: DesiredState
    operation: Operation
    standby_ttl_seconds: int
    archive_ttl_seconds: int
    phase_changed_at: Millis
    last_access_at: Millis | None
    awake_since: Millis
    can_archive: bool


class Sleep(Struct, frozen=True):
    """What a workspace comes to be if nobody uses it, and when."""

    at: Millis
    desired: DesiredState


def next_sleep(facts: SleepFacts) -> Sleep | None:
    """The next step, if there is one. A TTL of 0 is none, and a workspace that is on its way has none yet."""
    if facts.operation is not Operation.NONE or facts.phase.value != facts.desired.value:
        return None
    used_at = max(facts.last_access_at or 0, facts.phase_changed_at)
    if facts.phase is Phase.RUNNING and facts.standby_ttl_seconds:
        return Sleep(max(used_at, facts.awake_since) + facts.standby_ttl_seconds * 1000, DesiredState.STANDBY)
    if facts.phase is Phase.STANDBY and facts.archive_ttl_seconds and facts.can_archive:
        at = max(used_at + facts.archive_ttl_seconds * 1000, facts.awake_since + AWAKE_MS)
        return Sleep(at, DesiredState.ARCHIVED)
    return None
