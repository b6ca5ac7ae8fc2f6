"""A histogram that is kept twice: in milliseconds, as it was from the first, and in seconds, as Prometheus wants it."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Histogram


class Timing:
    """Takes milliseconds."""

    def __init__(self, milliseconds: Histogram, seconds: Histogram) -> None:
        self._milliseconds = milliseconds
        self._seconds = seconds

    @classmethod
    def made(
        cls, registry: CollectorRegistry, prefix: str, name: str, text: str, buckets_ms: tuple[float, ...], *labels: str
    ) -> Timing:
        """Both histograms, with the same buckets; `name` is without its unit."""
        seconds = tuple(bucket / 1000 for bucket in buckets_ms)
        return cls(
            Histogram(f"{name}_ms", text, labels, prefix, registry=registry, buckets=buckets_ms),
            Histogram(f"{name}_seconds", text, labels, prefix, registry=registry, buckets=seconds),
        )

    def labels(self, *labels: str) -> Timing:
        """The time series with these labels."""
        return Timing(self._milliseconds.labels(*labels), self._seconds.labels(*labels))

    def observe(self, milliseconds: float) -> None:
        """It took this long."""
        self._milliseconds.observe(milliseconds)
        self._seconds.observe(milliseconds / 1000)
