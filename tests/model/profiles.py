"""How many histories a run tries, and what a long run tells about them."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable

from hypothesis import HealthCheck, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.model.driver import Place
from tests.model.machine import StoreMachine

# Every run tries other histories, but for those in CI. A failure prints its steps and the blob that repeats it, and
# comes first next time.
QUICK = settings(
    stateful_step_count=60,
    deadline=None,
    derandomize="CI" in os.environ,
    print_blob=True,
    suppress_health_check=list(HealthCheck),
)
# Without the examples of earlier runs: with them, what one part found would stop all the others at their first history.
LONG = settings(QUICK, stateful_step_count=100, derandomize=False, database=None)
PARTS = 20  # of a long run, which processes can share


def try_part(place: Callable[[], Place], number: int, most: int) -> None:
    """One part of a long run, with a seed of its own; says what was tried."""
    counts = try_histories(place, LONG, most // PARTS, number)
    print("\n".join(f"{count:>9,} {what}" for what, count in sorted(counts.items())))


def try_histories(place: Callable[[], Place], profile: settings, most: int, number: int | None = None) -> Counter[str]:
    """Random histories, each in a place of its own; what was done in them how often."""
    counts: Counter[str] = Counter()

    def machine() -> StoreMachine:
        return StoreMachine(place(), counts)

    # To repeat a failure, decorate `machine` with the @reproduce_failure(...) that was printed.
    begun = machine if number is None else seed(number)(machine)
    run_state_machine_as_test(begun, settings=settings(profile, max_examples=most))  # type: ignore[arg-type]
    return counts
