"""A collector of OpenTelemetry data on loopback: keeps what it is sent, and tells when something came."""

import gzip
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.metrics.v1.metrics_pb2 import Metric
from opentelemetry.proto.trace.v1.trace_pb2 import Span

PATIENCE_S = 60.0


class Collector:
    """What has come so far."""

    def __init__(self) -> None:
        self.endpoint = ""
        self.spans: list[Span] = []
        self.metrics: dict[str, Metric] = {}
        self.services: set[str] = set()
        self._came = threading.Condition()

    def take(self, path: str, body: bytes) -> None:
        """Keep what was sent."""
        with self._came:
            if path == "/v1/traces":
                for group in ExportTraceServiceRequest.FromString(body).resource_spans:
                    self._note_service(group.resource)
                    self.spans += [span for scope in group.scope_spans for span in scope.spans]
            elif path == "/v1/metrics":
                for resource in ExportMetricsServiceRequest.FromString(body).resource_metrics:
                    self._note_service(resource.resource)
                    self.metrics |= {
                        metric.name: metric for scope in resource.scope_metrics for metric in scope.metrics
                    }
            self._came.notify_all()

    def wait_until(self, is_true: Callable[[], bool]) -> None:
        """Return as soon as something has come that makes it true."""
        with self._came:
            assert self._came.wait_for(is_true, PATIENCE_S)

    def wait_for_span(self, name: str) -> Span:
        """The first span of that name, as soon as it is there."""
        self.wait_until(lambda: any(span.name == name for span in self.spans))
        return next(span for span in self.spans if span.name == name)

    def wait_for_metric(self, name: str) -> Metric:
        """The latest state of a metric, as soon as it is there."""
        self.wait_until(lambda: name in self.metrics)
        return self.metrics[name]

    def count(self, name: str) -> int:
        """How many observations a histogram has."""
        metric = self.metrics.get(name)
        return 0 if metric is None else sum(point.count for point in metric.histogram.data_points)

    def _note_service(self, resource: Any) -> None:
        self.services |= {item.value.string_value for item in resource.attributes if item.key == "service.name"}


@contextmanager
def running_collector() -> Iterator[Collector]:
    """Listening on a free port until the block ends."""
    collector = Collector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            collector.take(self.path, gzip.decompress(body) if self.headers.get("Content-Encoding") == "gzip" else body)
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            """Nobody reads it."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    collector.endpoint = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield collector
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
