"""What `holdfast status` and `holdfast doctor` say about clocks that are wrong."""

from __future__ import annotations

import pytest
from msgspec import structs

from holdfast.cli.daemon.doctor_checks import _clock
from holdfast.cli.daemon.status import clock_says
from holdfast.wire.status import DaemonStatus

FINE = DaemonStatus(
    version="0", pid=1, node="n", started_at=0, home="h", socket="s", tcp=None, store="", dialect="postgres",
    settings=None, workers=[],
)  # fmt: skip


@pytest.mark.parametrize(
    ("off_ms", "said"),
    [
        (0, None),
        (1_000, None),
        (-2_000, "this machine's is 2.0s behind the database's, which is the one that counts; set it"),
        (3_600_000, "this machine's is 1h ahead of the database's, which is the one that counts; set it"),
    ],
)
def test_a_clock_that_is_off_by_more_than_a_second_is_worth_a_look(off_ms: int, said: str | None) -> None:
    daemon = structs.replace(FINE, clock_off_ms=off_ms)
    assert clock_says(daemon) == said
    [finding] = _clock(daemon, 0, [])
    assert finding.is_well is (True if said is None else None)


def test_a_clock_in_doubt_is_wrong() -> None:
    daemon = structs.replace(FINE, clock_off_ms=5_000, clock_doubt="it has jumped")
    [finding] = _clock(daemon, 0, [])
    assert (finding.is_well, finding.said) == (False, "it has jumped")
