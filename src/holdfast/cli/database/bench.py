"""`holdfast bench`: how fast the daemon that runs here is, in a few seconds."""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct

from holdfast.cli.frame import output
from holdfast.cli.frame.clients import client
from holdfast.cli.frame.output import Output
from holdfast.cli.frame.progress import ProgressBar
from holdfast.cli.frame.words import Option


class Figures(Struct, frozen=True):
    """What was measured. Times are milliseconds."""

    enqueue_p50: float
    enqueue_p95: float
    round_trip_p50: float
    round_trip_p95: float
    enqueue_many_per_second: float
    drain_per_second: float
    drained: int


def bench(
    seconds: Annotated[
        float, Option(metavar="TIME", field="bench.seconds", help="How long to measure, roughly.")
    ] = 5.0,
) -> Output:
    """Measure the daemon with jobs that do nothing.

    They go the whole way (call, store, worker, store), in the daemon's own worker, beside whatever else runs, and are
    removed at the end. Every enqueue is durable when it returns, so the disk decides much of what you see.

    \b
    Examples:
      holdfast bench
    """
    from holdfast.cli.database.bench_run import AT_ONCE, BenchRun, percentile

    run = BenchRun(client())
    try:
        with ProgressBar("measuring"):
            alone = run.enqueue(seconds / 5)
            trips = run.round_trip(seconds / 5)
            jobs, enqueued, drained = run.drain(seconds / 5)
    finally:
        with ProgressBar("cleaning up"):
            run.clean_up()
    figures = Figures(
        percentile(alone, 50),
        percentile(alone, 95),
        percentile(trips, 50),
        percentile(trips, 95),
        enqueued,
        drained,
        jobs,
    )
    rows = [
        ["enqueue one job", f"{figures.enqueue_p50:.2f} ms", f"{figures.enqueue_p95:.2f} ms", ""],
        [
            "enqueue one and wait for its end",
            f"{figures.round_trip_p50:.2f} ms",
            f"{figures.round_trip_p95:.2f} ms",
            "",
        ],
        [f"enqueue {AT_ONCE} at once", "", "", f"{enqueued:,.0f} jobs/s"],
        [f"run the {jobs:,} that waited", "", "", f"{drained:,.0f} jobs/s"],
    ]
    return output.listed(figures, ["what", "p50", "p95", "rate"], rows, right=["p50", "p95", "rate"])
