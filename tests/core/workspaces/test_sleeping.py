"""When a workspace that nobody uses comes to rest."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast.core.workspaces.sleeping import AWAKE_MS, Sleep, SleepFacts, next_sleep
from holdfast.core.workspaces.states import DesiredState, Operation, Phase

D, P = DesiredState, Phase
T = 1_000_000


def facts(phase: Phase = P.RUNNING, **more: Any) -> SleepFacts:
    """One that came into its phase at T, with TTLs of one and two minutes."""
    usual: dict[str, Any] = {
        "phase": phase,
        "desired": DesiredState(phase.value) if phase.value in set(D) else D.RUNNING,
        "operation": Operation.NONE,
        "standby_ttl_seconds": 60,
        "archive_ttl_seconds": 120,
        "phase_changed_at": T,
        "last_access_at": None,
        "awake_since": 0,
        "can_archive": True,
    }
    return SleepFacts(**(usual | more))


@pytest.mark.parametrize(
    ("found", "sleep"),
    [
        (facts(), Sleep(T + 60_000, D.STANDBY)),
        (facts(last_access_at=T - 5), Sleep(T + 60_000, D.STANDBY)),
        (facts(last_access_at=T + 5), Sleep(T + 60_005, D.STANDBY)),
        (facts(awake_since=T + 9), Sleep(T + 60_009, D.STANDBY)),
        (facts(standby_ttl_seconds=0), None),
        (facts(operation=Operation.STOPPING), None),
        (facts(desired=D.STANDBY), None),
        (facts(P.STANDBY), Sleep(max(T + 120_000, AWAKE_MS), D.ARCHIVED)),
        (facts(P.STANDBY, last_access_at=T + 7), Sleep(max(T + 120_007, AWAKE_MS), D.ARCHIVED)),
        (facts(P.STANDBY, awake_since=T), Sleep(T + AWAKE_MS, D.ARCHIVED)),
        (facts(P.STANDBY, can_archive=False), None),
        (facts(P.STANDBY, archive_ttl_seconds=0), None),
        (facts(P.STANDBY, desired=D.RUNNING), None),
        (facts(P.ARCHIVED), None),
        (facts(P.ERROR), None),
        (facts(P.PENDING), None),
    ],
)
def test_when_it_comes_to_rest(found: SleepFacts, sleep: Sleep | None) -> None:
    assert next_sleep(found) == sleep
