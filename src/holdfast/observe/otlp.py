"""Sends spans and metrics to an OpenTelemetry collector, by OTLP over HTTP. Needs the extra `otlp`."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from prometheus_client import CollectorRegistry
from prometheus_client.metrics_core import Metric as Family

from holdfast.observe import spans
from holdfast.observe.spans import Span
from holdfast.observe.trace import Trace

try:
    from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.metrics import export as points
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import ReadableSpan
    from opentelemetry.sdk.trace.export import BatchSpanProcessor
    from opentelemetry.sdk.util.instrumentation import InstrumentationScope
    from opentelemetry.trace import SpanContext, SpanKind, TraceFlags
    from opentelemetry.trace.status import Status, StatusCode
except ImportError as missing:
    raise ImportError(
        f"OTLP needs the extra `otlp`, which is not installed ({missing}); install it with: "
        "pip install 'holdfast[otlp]'"
    ) from missing

PATIENCE_S = 5.0
SCOPE = InstrumentationScope("holdfast")
CUMULATIVE = points.AggregationTemporality.CUMULATIVE


class Otlp:
    """A connection to a collector, for one process. One that does not answer is given up after `patience` seconds."""

    def __init__(self, endpoint: str, service: str, *, patience: float = PATIENCE_S) -> None:
        base = endpoint.rstrip("/")
        self._patience = patience
        self._resource = Resource.create({"service.name": service})
        self._metrics = OTLPMetricExporter(f"{base}/v1/metrics", timeout=patience)
        self._spans = BatchSpanProcessor(OTLPSpanExporter(f"{base}/v1/traces", timeout=patience))
        self._began = time.time_ns()
        spans.send_to(self._take)

    def send_metrics(self, registry: CollectorRegistry) -> bool:
        """Send what the registry holds now, and wait for it. False if the collector did not take it."""
        now = time.time_ns()
        metrics = [metric for family in registry.collect() for metric in self._metric(family, now)]
        scope = points.ScopeMetrics(SCOPE, metrics, "")
        data = points.MetricsData([points.ResourceMetrics(self._resource, [scope], "")])
        return self._metrics.export(data, timeout_millis=self._patience * 1000) is points.MetricExportResult.SUCCESS

    def close(self) -> None:
        """Send the spans that are left, but wait only for a short time."""
        spans.send_to(None)
        # A daemon thread does not keep the process alive: the collector may be gone.
        closing = threading.Thread(target=self._close, name="holdfast-otlp", daemon=True)
        closing.start()
        closing.join(self._patience)

    def _close(self) -> None:
        self._spans.shutdown()  # type: ignore[no-untyped-call]
        self._metrics.shutdown()

    def _take(self, span: Span) -> None:
        parent = None if span.trace.parent is None else _context(span.trace, span.trace.parent, remote=True)
        self._spans.on_end(
            ReadableSpan(
                span.name,
                _context(span.trace, span.trace.span_id),
                parent,
                self._resource,
                dict(span.attributes),
                kind=SpanKind[span.kind.upper()],
                status=Status(StatusCode.UNSET) if span.error is None else Status(StatusCode.ERROR, span.error),
                start_time=span.started_at,
                end_time=span.ended_at,
                instrumentation_scope=SCOPE,
            )
        )

    def _metric(self, family: Family, now: int) -> Iterator[points.Metric]:
        match family.type:
            case "counter":
                totals = [
                    points.NumberDataPoint(dict(sample.labels), self._began, now, sample.value)
                    for sample in family.samples
                    if sample.name.endswith("_total")
                ]
                data: Any = points.Sum(totals, CUMULATIVE, is_monotonic=True)
            case "histogram":
                data = points.Histogram(list(self._histograms(family, now)), CUMULATIVE)
            case _:
                data = points.Gauge(
                    [points.NumberDataPoint(dict(item.labels), 0, now, item.value) for item in family.samples]
                )
        if data.data_points:
            yield points.Metric(family.name, family.documentation, family.unit, data)

    def _histograms(self, family: Family, now: int) -> Iterator[points.HistogramDataPoint]:
        """Prometheus counts what is below each bound, OTLP what is between two bounds."""
        bounds: list[float] = []
        below: list[int] = []
        for sample in family.samples:
            if sample.name.endswith("_bucket"):
                bounds.append(float(sample.labels["le"]))
                below.append(int(sample.value))
            elif sample.name.endswith("_sum"):  # It follows the buckets of the same labels.
                between = [upper - lower for lower, upper in pairwise([0, *below])]
                unknown: Any = None
                yield points.HistogramDataPoint(
                    dict(sample.labels),
                    self._began,
                    now,
                    below[-1],
                    sample.value,
                    between,
                    bounds[:-1],
                    unknown,
                    unknown,
                )
                bounds, below = [], []


def _context(trace: Trace, span_id: str, *, remote: bool = False) -> SpanContext:
    return SpanContext(int(trace.trace_id, 16), int(span_id, 16), remote, TraceFlags(int(trace.sampled)))
