"""A daemon as an operator sees it: its log, its metrics, its traces, what it says about wrong settings."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from holdfast.observe import trace
from holdfast.wire.home import HOME
from tests.chaos.processes import until
from tests.cli.shell import Shell
from tests.daemon.house import House, Process, inhabited
from tests.observe.collector import Collector, running_collector

QUIET = "[observe]\ncanary_every = 0\n"


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """A home whose tasks tell which trace they run in."""
    with inhabited(tmp_path_factory.mktemp("side"), QUIET, app="observed") as house:
        yield house


def line(process: Process, fits: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """The first line of a log that fits, as soon as it is there."""

    def find() -> dict[str, Any] | None:
        lines = [json.loads(text) for text in process.said().splitlines() if re.fullmatch(r"\{.*\}", text)]
        return next((found for found in lines if fits(found)), None)

    return until(find, "the log says so") or {}


def test_one_trace_goes_from_the_caller_to_the_run_and_into_the_log(shared: House) -> None:
    daemon, here = shared.processes[0], trace.make()
    with trace.using(here):
        job = shared.client().enqueue("look")
    assert job.result(timeout=60) == here.trace_id
    found = line(daemon, lambda found: found.get("task") == "look" and found["job_id"] == job.id)
    assert (found["trace_id"], found["component"]) == (here.trace_id, "task")
    assert "hunter2" not in daemon.said()


def test_a_call_without_a_trace_begins_one_that_its_job_and_its_children_keep(shared: House) -> None:
    hf = shared.client()
    job = hf.enqueue("parent")
    seen = hf.job(job.result(timeout=60)).result(timeout=60)
    assert re.fullmatch("[0-9a-f]{32}", seen)
    assert job.job.trace_id == seen


def test_an_answer_names_its_trace_and_so_does_a_problem(shared: House) -> None:
    here = trace.make()
    with shared.connection() as connection:
        connection.request("GET", "/v1/jobs/4711", headers={"traceparent": here.header})
        response = connection.getresponse()
        problem = json.loads(response.read())
    assert response.status == 404
    assert problem["trace_id"] == here.trace_id
    answered = trace.parse(response.headers["traceparent"])
    assert answered is not None
    assert answered.trace_id == here.trace_id
    assert answered.span_id != here.span_id


def test_what_happened_is_in_the_metrics(house: House) -> None:
    house.settings(QUIET)
    daemon = house.up(app="observed")
    house.worker("system")
    house.client().enqueue("look").result(timeout=60)
    house.await_metrics(
        'holdfast_jobs_enqueued_total{queue="default"} 1.0',
        "holdfast_jobs_done_total 1.0",
        'holdfast_job_duration_ms_count{queue="default",state="DONE"} 1.0',
        'holdfast_api_call_ms_count{call="enqueue"} 1.0',
    )
    house.down(daemon)


def test_a_collector_gets_the_whole_trace_and_the_metrics(house: House) -> None:
    with running_collector() as collector:
        house.settings(f'[observe]\notlp = "{collector.endpoint}"\notlp_every = "1s"\ncanary_every = "1s"\n')
        daemon, here = house.up(app="observed"), trace.make()
        with trace.using(here):
            house.client().enqueue("look").result(timeout=60)
        collector.wait_until(lambda: collector.count("holdfast_canary_latency_ms") > 0)
        house.down(daemon)
        check_trace(collector, here)


def check_trace(collector: Collector, here: trace.Trace) -> None:
    """The call is caused by the caller, the job by the call, the run by the job."""
    spans = [collector.wait_for_span(name) for name in ("enqueue", "enqueue look", "run look")]
    assert {span.trace_id.hex() for span in spans} == {here.trace_id}
    assert [span.parent_span_id.hex() for span in spans] == [
        here.span_id,
        spans[0].span_id.hex(),
        spans[1].span_id.hex(),
    ]
    assert collector.services == {"holdfast", "holdfast-worker"}


def test_the_canary_of_a_daemon_that_works_returns(house: House) -> None:
    house.settings('[observe]\ncanary_every = "1s"\n[logs]\nlevel = "debug"\n')
    daemon = house.up()
    assert line(daemon, lambda found: found["event"] == "canary_returned")["latency_ms"] > 0
    house.down(daemon)


def test_a_daemon_in_the_background_logs_to_files(house: House) -> None:
    house.settings(QUIET)
    house.run("up", "--detach").end_well()
    house.worker("system")
    house.run("down").end_well()
    events = [json.loads(text)["event"] for text in house.home.log.read_text().splitlines()]
    assert events[0] == "daemon_ready"
    assert events[-1] == "daemon_stopped"
    assert (house.home.log.parent / "worker-system.log").exists()
    assert house.home.log.with_suffix(".err").read_text() == ""


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ("[daemon]\nwrokers = 1\n", "daemon.wrokers is not known: did you mean workers?"),
        ('[api]\nhost = "0.0.0.0"\nport = 0\n', "api.host = '0.0.0.0' can be reached from other machines"),
        ("[api]\nport = true\n", "api.port = True is not valid: use a whole number from 0 to 65535"),
    ],
)
@pytest.mark.parametrize("words", [("up",), ("up", "--detach")])
def test_a_daemon_does_not_start_with_wrong_settings(
    house: House, settings: str, said: str, words: tuple[str, ...]
) -> None:
    house.settings(settings)
    ended = Shell(house.home)(*words)
    assert (ended.code, said in ended.err, "Traceback" in ended.err) == (2, True, False), ended


def test_a_file_elsewhere_can_be_named(house: House, tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text("[logs]\nlevel = 5\n")
    ended = Shell(house.home)("up", "--config", file)
    assert (ended.code, f"{file}: logs.level = 5 is not valid" in ended.err) == (2, True), ended


def test_without_the_extra_a_collector_is_refused_with_the_way_to_install_it(house: House, tmp_path: Path) -> None:
    (tmp_path / "opentelemetry.py").write_text("raise ImportError('not here')\n")
    house.settings('[observe]\notlp = "http://127.0.0.1:1"\n')
    command = house.run("up", env={"PYTHONPATH": str(tmp_path), HOME: str(house.home.folder)})
    assert command.wait() == 2
    assert "pip install 'holdfast[otlp]'" in command.said()


def test_the_printed_sample_can_be_the_settings(house: House) -> None:
    house.settings(Shell(house.home).ok("up", "--print-config").out)
    house.down(house.up())
