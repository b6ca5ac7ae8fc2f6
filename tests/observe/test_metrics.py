"""The metrics as Prometheus reads them."""

import subprocess
import sys

import pytest
from prometheus_client.parser import text_string_to_metric_families

from holdfast.observe.metrics import MOST_NAMES, OTHERS, Depth, Metrics, Readings, Share


def samples(metrics: Metrics) -> dict[str, float]:
    """Every sample by its name and labels, as a reader of the text gets them."""
    return {
        f"{sample.name}{sorted(sample.labels.items())}" if sample.labels else sample.name: sample.value
        for family in text_string_to_metric_families(metrics.text().decode())
        for sample in family.samples
    }


def test_every_metric_that_operators_were_promised_is_there() -> None:
    text = Metrics().text().decode()
    for name in (
        "jobs_enqueued_total",
        "jobs_failed_total",
        "jobs_superseded_total",
        "jobs_done_total",
        "queue_depth",
        "active_workers",
        "cpu_usage",
        "wal_size_bytes",
        "job_duration_ms",
        "queue_wait_ms",
        "db_txn_time_ms",
        "api_call_ms",
        "canary_latency_ms",
        "job_endings_total",
        "job_duration_seconds",
        "queue_wait_seconds",
        "db_txn_time_seconds",
        "api_call_seconds",
        "canary_latency_seconds",
        "sla_breaches_total",
        "worker_restarts_total",
        "workers_crash_looping",
        "long_calls_open",
    ):
        assert f"# TYPE holdfast_{name} " in text


def test_what_happened_is_counted() -> None:
    metrics = Metrics()
    metrics.enqueued("mail", 2)
    metrics.enqueued("mail", 1)
    metrics.ended("mail", "DONE", 2)
    metrics.ended("news", "SUPERSEDED", 1)
    metrics.broke_promise("enqueue")
    found = samples(metrics)
    assert found["holdfast_jobs_enqueued_total[('queue', 'mail')]"] == 3
    assert found["holdfast_jobs_done_total"] == 2
    assert found["holdfast_jobs_superseded_total"] == 1
    assert found["holdfast_jobs_failed_total"] == 0
    assert found["holdfast_job_endings_total[('queue', 'mail'), ('state', 'DONE')]"] == 2
    assert found["holdfast_job_endings_total[('queue', 'news'), ('state', 'SUPERSEDED')]"] == 1
    assert found["holdfast_sla_breaches_total[('sla', 'enqueue')]"] == 1


def test_what_others_count_is_caught_up_with() -> None:
    metrics = Metrics()
    for restarts in (0, 2, 2, 5):
        metrics.look(Readings([], workers=1, wal_bytes=0, worker_restarts=restarts))
    assert samples(metrics)["holdfast_worker_restarts_total"] == 5


def test_a_duration_falls_into_its_bucket() -> None:
    metrics = Metrics()
    metrics.committed(0.0015)
    found = samples(metrics)
    assert found["holdfast_db_txn_time_ms_bucket[('le', '1.0')]"] == 0
    assert found["holdfast_db_txn_time_ms_bucket[('le', '2.0')]"] == 1
    assert found["holdfast_db_txn_time_seconds_bucket[('le', '0.001')]"] == 0
    assert found["holdfast_db_txn_time_seconds_bucket[('le', '0.002')]"] == 1


def test_a_queue_that_is_empty_again_disappears() -> None:
    metrics = Metrics()
    metrics.look(Readings([Depth("mail", "QUEUED", 5)], workers=1, wal_bytes=0))
    assert samples(metrics)["holdfast_queue_depth[('queue', 'mail'), ('state', 'QUEUED')]"] == 5
    metrics.look(Readings([], workers=1, wal_bytes=0))
    assert not [name for name in samples(metrics) if name.startswith("holdfast_queue_depth")]


def test_names_without_end_share_one_series() -> None:
    metrics = Metrics()
    for number in range(MOST_NAMES + 50):
        metrics.enqueued(f"queue-{number}", 1)
    found = {name: value for name, value in samples(metrics).items() if name.startswith("holdfast_jobs_enqueued")}
    assert len(found) == MOST_NAMES + 1
    assert found[f"holdfast_jobs_enqueued_total[('queue', '{OTHERS}')]"] == 50


def test_a_name_with_quotes_and_line_ends_is_read_back_as_it_was() -> None:
    metrics = Metrics()
    metrics.look(Readings([Depth('a"b\\c\nd', "QUEUED", 1)], workers=0, wal_bytes=0))
    (found,) = (
        sample.labels["queue"]
        for family in text_string_to_metric_families(metrics.text().decode())
        for sample in family.samples
        if sample.name == "holdfast_queue_depth"
    )
    assert found == 'a"b\\c\nd'


@pytest.mark.processes
def test_nobody_but_the_daemon_pays_for_the_metrics() -> None:
    program = "import sys, holdfast, holdfast.cli.app; sys.exit('prometheus_client' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_shares_are_told_of_so_many_tenants_and_of_the_others_together() -> None:
    metrics = Metrics()
    shares = [Share("q", f"t{number:04}", 1 / 1_000, number) for number in range(1_000)]
    metrics.look(Readings([], 0, 0, shares=shares))
    metrics.look(Readings([], 0, 0, shares=[Share("q", "t0001", 1.0, 5), *shares[2:]]))
    found = samples(metrics)
    assert found["holdfast_tenant_share[('queue', 'q'), ('tenant', 't0001')]"] == 1
    assert found["holdfast_tenant_starts_total[('queue', 'q'), ('tenant', 't0001')]"] == 5
    others = f"[('queue', 'q'), ('tenant', '{OTHERS}')]"
    assert found[f"holdfast_tenant_starts_total{others}"] == sum(range(MOST_NAMES, 1_000))
    assert round(found[f"holdfast_tenant_share{others}"], 6) == 0.8
