"""Which reports are sent together, and what happens to one that is refused."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import structs

from holdfast.core.errors import InvalidInput
from holdfast.core.jobs.requests import Report
from holdfast.core.jobs.settle import Broke, Completed
from holdfast.core.values.retry import Failure, FailureKind

MOST_AT_ONCE = 2 << 20  # characters; as JSON in JSON they may become four times as many bytes
SMALL_REPORT = 1 << 10
LONGEST_REFUSAL = 1_000


def how_many_fit(reports: Sequence[Report]) -> int:
    """How many of these fit together. One always does."""
    room = MOST_AT_ONCE
    for number, report in enumerate(reports):
        room -= _size(report)
        if room < 0:
            return max(1, number)
    return len(reports)


def refused(report: Report, error: InvalidInput) -> Report:
    """The failure to report instead. Sent again as it is, the report would be refused for ever."""
    said = f"what became of it was refused: {error}"[:LONGEST_REFUSAL]
    outcome = Broke(Failure(FailureKind.PERMANENT, "ERR_REPORT_REFUSED", said))
    return structs.replace(report, outcome=outcome, traceback=None, artifacts=None, log_path=None, artifact_path=None)


def _size(report: Report) -> int:
    said = report.outcome.result if isinstance(report.outcome, Completed) else ""
    return SMALL_REPORT + len(said) + len(report.traceback or "") + len(report.artifacts or "")
