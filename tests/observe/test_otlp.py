"""What arrives at a collector."""

import subprocess
import sys
from collections.abc import Iterator

import pytest

from holdfast.observe import spans, trace
from holdfast.observe.metrics import Depth, Metrics, Readings
from holdfast.observe.otlp import Otlp
from holdfast.observe.spans import Span
from tests.observe.collector import Collector, running_collector


@pytest.fixture
def collector() -> Iterator[Collector]:
    with running_collector() as collector:
        yield collector


def test_spans_arrive_with_their_place_in_the_trace(collector: Collector) -> None:
    otlp = Otlp(collector.endpoint, "daemon")
    request = trace.make().child()
    spans.record(Span(request, "enqueue", "server", 1_000, 2_000, {"queue": "mail"}, error="it failed"))
    otlp.close()
    span = collector.wait_for_span("enqueue")
    assert (span.trace_id.hex(), span.span_id.hex(), span.parent_span_id.hex()) == (
        request.trace_id,
        request.span_id,
        request.parent,
    )
    assert (span.start_time_unix_nano, span.end_time_unix_nano, span.status.message) == (1_000, 2_000, "it failed")
    assert collector.services == {"daemon"}


def test_a_span_of_a_trace_that_nobody_keeps_is_not_sent(collector: Collector) -> None:
    otlp = Otlp(collector.endpoint, "daemon")
    unwanted = trace.parse(f"00-{'a' * 32}-{'b' * 16}-00")
    assert unwanted is not None
    spans.record(Span(unwanted, "unwanted", "server", 1, 2))
    spans.record(Span(trace.make(), "wanted", "server", 1, 2))
    otlp.close()
    collector.wait_for_span("wanted")
    assert [span.name for span in collector.spans] == ["wanted"]


def test_spans_are_wanted_only_while_somebody_collects_them(collector: Collector) -> None:
    assert not spans.are_wanted()
    otlp = Otlp(collector.endpoint, "daemon")
    assert spans.are_wanted()
    otlp.close()
    assert not spans.are_wanted()


def test_metrics_arrive_as_what_they_are(collector: Collector) -> None:
    metrics = Metrics()
    metrics.enqueued("mail", 3)
    for duration in (2, 2, 20, 7_200_000):
        metrics.ran("mail", "DONE", duration)
    metrics.look(Readings([Depth("mail", "QUEUED", 5)], workers=2, wal_bytes=4_096))
    otlp = Otlp(collector.endpoint, "daemon")
    assert otlp.send_metrics(metrics.registry)
    otlp.close()
    counted = collector.wait_for_metric("holdfast_jobs_enqueued").sum
    assert counted.is_monotonic
    assert [(point.as_double, point.attributes[0].value.string_value) for point in counted.data_points] == [(3, "mail")]
    assert collector.metrics["holdfast_wal_size_bytes"].gauge.data_points[0].as_double == 4_096
    durations = collector.metrics["holdfast_job_duration_ms"].histogram.data_points[0]
    found = dict(zip([*durations.explicit_bounds, "more"], durations.bucket_counts, strict=True))
    assert {bound: count for bound, count in found.items() if count} == {3: 2, 30: 1, "more": 1}
    assert (durations.count, durations.sum) == (4, 7_200_024)


def test_a_collector_that_is_gone_takes_nothing_and_hurts_nobody() -> None:
    with running_collector() as collector:
        endpoint = collector.endpoint
    otlp = Otlp(endpoint, "daemon", patience=0.5)
    spans.record(Span(trace.make(), "lost", "server", 1, 2))
    assert not otlp.send_metrics(Metrics().registry)
    otlp.close()


@pytest.mark.processes
def test_without_the_extra_the_error_says_how_to_install_it() -> None:
    program = "import sys; sys.modules['opentelemetry.sdk'] = None; import holdfast.observe.otlp"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert "pip install 'holdfast[otlp]'" in done.stderr.splitlines()[-1]
