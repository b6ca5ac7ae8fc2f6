"""Traces: what is read, what is made, and who sees it."""

import asyncio
import subprocess
import sys

import pytest

from holdfast.observe.trace import Trace, current, make, of_header, of_job, of_run, parse, span_of, using

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


def test_a_header_is_read_and_written_alike() -> None:
    header = f"00-{TRACE}-{SPAN}-01"
    trace = parse(header)
    assert trace == Trace(TRACE, SPAN)
    assert trace.header == header


def test_a_trace_that_nobody_keeps_stays_so() -> None:
    trace = parse(f"00-{TRACE}-{SPAN}-00")
    assert trace is not None
    assert trace.child().header.endswith("-00")


def test_a_later_version_is_read_as_far_as_it_is_known() -> None:
    assert parse(f"01-{TRACE}-{SPAN}-01-more") == Trace(TRACE, SPAN)


@pytest.mark.parametrize(
    "header",
    [
        None,
        "",
        "req-123",
        f"00-{TRACE}-{SPAN}",
        f"00-{TRACE.upper()}-{SPAN}-01",
        f"00-{TRACE}-{SPAN}-01-more",
        f"ff-{TRACE}-{SPAN}-01",
        f"00-{'0' * 32}-{SPAN}-01",
        f"00-{TRACE}-{'0' * 16}-01",
    ],
)
def test_a_header_that_cannot_be_read_counts_as_none(header: str | None) -> None:
    assert parse(header) is None


def test_the_span_of_a_request_is_a_child_of_the_callers() -> None:
    request = of_header(f"00-{TRACE}-{SPAN}-01")
    assert (request.trace_id, request.parent) == (TRACE, SPAN)
    assert request.span_id != SPAN


def test_a_request_without_a_trace_begins_one() -> None:
    first, second = of_header(None), of_header("nonsense")
    assert first.parent is None
    assert first.trace_id != second.trace_id
    assert parse(first.header) == Trace(first.trace_id, first.span_id)


def test_a_run_hangs_below_its_job_in_the_trace_that_was_stored() -> None:
    run = of_run(TRACE, "job", "run")
    assert (run.trace_id, run.parent, run.span_id) == (TRACE, of_job(TRACE, "job").span_id, span_of("run"))


def test_a_trace_id_of_another_kind_becomes_a_valid_one_that_stays_the_same() -> None:
    one, again = of_job("req-123", "job"), of_job("req-123", "job")
    assert one == again
    assert parse(one.header) is not None
    assert one.child().id == "req-123"


def test_what_is_current_is_seen_inside_and_not_after() -> None:
    trace = make()
    with using(trace):
        assert current() == trace
    assert current() is None


def test_coroutines_side_by_side_each_see_their_own() -> None:
    async def look(trace: Trace, met: asyncio.Barrier) -> Trace | None:
        with using(trace):
            await met.wait()
            return current()

    async def both() -> tuple[Trace | None, Trace | None]:
        met = asyncio.Barrier(2)
        first, second = await asyncio.gather(look(one, met), look(other, met))
        return first, second

    one, other = make(), make()
    assert asyncio.run(both()) == (one, other)


@pytest.mark.processes
def test_opentelemetry_is_never_imported_for_its_sake() -> None:
    program = "import sys, holdfast.observe.trace as t; t.current(); sys.exit('opentelemetry' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_a_span_of_opentelemetry_is_current_and_ours_is_its_parent() -> None:
    pytest.importorskip("opentelemetry.sdk.trace")
    from opentelemetry.sdk.trace import TracerProvider

    tracer = TracerProvider().get_tracer("test")
    ours = make()
    with using(ours):
        with tracer.start_as_current_span("theirs") as span:
            seen = current()
        assert current() == ours
    assert seen is not None
    assert (seen.trace_id, seen.span_id) == (ours.trace_id, f"{span.get_span_context().span_id:016x}")
