"""`holdfast bench`: how fast the daemon that runs here is, in a few seconds."""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct

from holdfast.cli.options import HomeOption, JsonOption, client
from holdfast.cli.output import show_json, show_table
from holdfast.cli.progress import Progress
from holdfast.cli.words import Option


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
    seconds: Annotated[float, Option(metavar="N", min=1, max=60, help="How long to measure, roughly.")] = 5.0,
    home: HomeOption = None,
    json: JsonOption = False,
) -> None:
    """Measure the daemon with jobs that do nothing.

    They go the whole way (call, store, worker, store), in the daemon's own worker, beside whatever else runs, and are
    removed at the end. Every enqueue is durable when it returns, so the disk decides much of what you see.

    \b
    Examples:
      holdfast bench
    """
    from holdfast.cli.bench_course import AT_ONCE, Course, percentile

    course = Course(client(home))
    try:
        with Progress("measuring"):
            alone = course.enqueue(seconds / 5)
            trips = course.round_trip(seconds / 5)
            jobs, enqueued, drained = course.drain(seconds / 5)
    finally:
        with Progress("cleaning up"):
            course.clean_up()
    figures = Figures(
        percentile(alone, 50),
        percentile(alone, 95),
        percentile(trips, 50),
        percentile(trips, 95),
        enqueued,
        drained,
        jobs,
    )
    if json:
        show_json(figures)
        return
    show_table(
        ["what", "p50", "p95", "rate"],
        [
            ["enqueue one job", f"{figures.enqueue_p50:.2f} ms", f"{figures.enqueue_p95:.2f} ms", ""],
            [
                "enqueue one and wait for its end",
                f"{figures.round_trip_p50:.2f} ms",
                f"{figures.round_trip_p95:.2f} ms",
                "",
            ],
            [f"enqueue {AT_ONCE} at once", "", "", f"{enqueued:,.0f} jobs/s"],
            [f"run the {jobs:,} that waited", "", "", f"{drained:,.0f} jobs/s"],
        ],
        right=["p50", "p95", "rate"],
    )
