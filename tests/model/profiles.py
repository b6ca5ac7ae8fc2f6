"""How many histories a run tries, and what a long run tells about them."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable

from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.model.driver import Place
from tests.model.machine import StoreMachine

# Every run tries other histories, but for those in CI. A failure prints its steps and the blob that repeats it, and
# comes first next time.
QUICK = settings(
    max_examples=60,
    stateful_step_count=60,
    deadline=None,
    derandomize="CI" in os.environ,
    print_blob=True,
    suppress_health_check=list(HealthCheck),
)
LONG = settings(QUICK, stateful_step_count=100)


def try_histories(place: Callable[[], Place], profile: settings, most: int) -> Counter[str]:
    """Random histories, each in a place of its own; what was done in them how often."""
    counts: Counter[str] = Counter()

    def machine() -> StoreMachine:
        return StoreMachine(place(), counts)

    # To repeat a failure, decorate `machine` with the @reproduce_failure(...) that was printed.
    run_state_machine_as_test(machine, settings=settings(profile, max_examples=most))  # type: ignore[arg-type]
    return counts


def told(counts: Counter[str]) -> str:
    """What was tried, one line each."""
    return "\n".join(f"{count:>9,} {what}" for what, count in sorted(counts.items()))
