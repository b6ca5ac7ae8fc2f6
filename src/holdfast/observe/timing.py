"""A histogram that is shown twice: in milliseconds, as before, and in seconds, as Prometheus wants it."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client import CollectorRegistry, Histogram
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString

MS = "_ms"


def timing(
    registry: CollectorRegistry, prefix: str, name: str, text: str, buckets_ms: tuple[float, ...], *labels: str
) -> Histogram:
    """A histogram that takes milliseconds; `name` is without its unit."""
    kept = Histogram(f"{name}{MS}", text, labels, prefix, registry=registry, buckets=buckets_ms)
    registry.register(InSeconds(kept))
    return kept


class InSeconds(Collector):
    """A histogram of milliseconds, shown in seconds."""

    def __init__(self, kept: Histogram) -> None:
        self._kept = kept

    def collect(self) -> Iterator[Metric]:
        """The same family under its name in seconds."""
        for family in self._kept.collect():
            name = f"{family.name.removesuffix(MS)}_seconds"
            told = Metric(name, family.documentation, family.type)
            for sample in family.samples:
                labels = dict(sample.labels)
                if "le" in labels:
                    labels["le"] = floatToGoString(float(labels["le"]) / 1000)  # type: ignore[no-untyped-call]
                value = sample.value / 1000 if sample.name.endswith("_sum") else sample.value
                told.add_sample(name + sample.name.removeprefix(family.name), labels, value)
            yield told
