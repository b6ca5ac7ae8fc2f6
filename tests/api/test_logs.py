"""Logs of runs by bytes: from an offset, from the end, and followed until the run has ended; artifacts as files."""

from __future__ import annotations

import os
import threading
from typing import Any
from urllib.parse import quote

import psutil
import pytest
from msgspec import structs

from holdfast.core.job import JobId, RunId
from holdfast.store.files import JobFiles
from holdfast.tasks.files import LogLimits, RunFiles
from tests.api.acts import ask, done, open_worker, until
from tests.api.caller import Caller, on_socket
from tests.api.running import PATIENCE_S, RunningApi, running_api


class Held:
    """A run that this test holds, with the log that it writes."""

    def __init__(self, api: RunningApi, limits: LogLimits | None = None, node: str | None = None) -> None:
        self._caller = on_socket(api)
        self._request = open_worker(self._caller, "default", node=node or api.engine.node)
        self.job_id: JobId = self._caller.enqueue()
        [self._run] = self._caller.post("/v1/exchange", ask(self._request)).json["claimed"]
        self.run_id: RunId = self._run["run_id"]
        self.files = RunFiles(JobFiles(api.engine.files), self.job_id, self.run_id, limits or LogLimits())

    def write(self, data: bytes) -> None:
        """Say something."""
        self.files.write(data)

    def end(self) -> None:
        """Report the run as done, and what it has made."""
        report = done(self._run) | structs.asdict(self.files.close())
        self._caller.post("/v1/exchange", ask(self._request | {"slots": 0}, reports=[report]))

    @property
    def log(self) -> str:
        """Where its log is read."""
        return f"/v1/runs/{self.run_id}/log"


@pytest.fixture
def held(api: RunningApi) -> Held:
    return Held(api)


def marks(reply: Any) -> tuple[int, int, str]:
    """Where an answer begins, where to go on, and whether that is the end."""
    headers = reply.headers
    return int(headers["holdfast-offset"]), int(headers["holdfast-next-offset"]), headers["holdfast-eof"]


def test_a_log_is_read_piece_by_piece(caller: Caller, held: Held) -> None:
    held.write(b"hello world\n")
    first = caller.get(f"{held.log}?limit=5")
    assert (first.body, marks(first)) == (b"hello", (0, 5, "false"))
    rest = caller.get(f"{held.log}?offset=5")
    assert (rest.body, marks(rest)) == (b" world\n", (5, 12, "false"))
    assert rest.headers["content-type"] == "text/plain; charset=utf-8"


def test_the_end_is_only_where_the_run_has_ended_and_all_is_read(caller: Caller, held: Held) -> None:
    held.write(b"hello")
    assert marks(caller.get(held.log)) == (0, 5, "false")
    held.end()
    assert marks(caller.get(f"{held.log}?limit=4")) == (0, 4, "false")
    assert marks(caller.get(held.log)) == (0, 5, "true")
    assert marks(caller.get(f"{held.log}?offset=99")) == (5, 5, "true")


def test_a_log_has_a_tail(caller: Caller, held: Held) -> None:
    held.write(b"one\ntwo\nthree\n")
    by_bytes = caller.get(f"{held.log}?tail=6")
    assert (by_bytes.body, marks(by_bytes)) == (b"three\n", (8, 14, "false"))
    by_lines = caller.get(f"{held.log}?lines=2")
    assert (by_lines.body, marks(by_lines)) == (b"two\nthree\n", (4, 14, "false"))


def test_the_oldest_part_of_a_log_may_be_gone(api: RunningApi, caller: Caller) -> None:
    held = Held(api, LogLimits(segment_bytes=10, max_bytes=20))
    for number in range(10):
        held.write(f"line {number:04}\n".encode())
    reply = caller.get(held.log)
    start, behind, _ = marks(reply)
    assert start > 0
    assert (behind, len(reply.body)) == (100, 100 - start)


def test_a_run_that_says_nothing_has_an_empty_log(caller: Caller, held: Held) -> None:
    held.end()
    reply = caller.get(held.log)
    assert (reply.status, reply.body, marks(reply)) == (200, b"", (0, 0, "true"))


def test_a_log_is_followed_until_the_run_has_ended(api: RunningApi, held: Held) -> None:
    held.write(b"one ")
    follower = on_socket(api)
    response = follower.open(f"{held.log}?follow=true")
    assert response.read1(100) == b"one "
    held.write(b"two ")
    assert response.read1(100) == b"two "
    held.write(b"three")
    held.end()
    assert response.read() == b"three"
    until(lambda: api.long_calls.open == 0, "the end of the long call")


def test_a_follower_can_begin_at_the_end(api: RunningApi, held: Held) -> None:
    held.write(b"one\ntwo\n")
    response = on_socket(api).open(f"{held.log}?follow=true&lines=1")
    held.write(b"three\n")
    held.end()
    assert (response.read(), response.headers["holdfast-offset"]) == (b"two\nthree\n", "4")


def test_a_follower_that_vanishes_makes_room(api: RunningApi, held: Held) -> None:
    follower = on_socket(api)
    response = follower.open(f"{held.log}?follow=true")
    assert api.long_calls.open == 1
    response.close()
    follower.close()
    until(lambda: api.long_calls.open == 0, "its end")


def test_a_slow_follower_of_a_hundred_megabytes_costs_no_memory(api: RunningApi) -> None:
    held = Held(api, LogLimits(max_bytes=200 << 20))
    piece = os.urandom(1 << 20)
    for _ in range(100):
        held.write(piece)
    held.end()
    before = psutil.Process().memory_info().rss
    response = on_socket(api).open(f"{held.log}?follow=true")
    assert response.read(10) == piece[:10]
    # Nobody reads: the daemon must not read ahead.
    assert on_socket(api).get("/v1/stats").status == 200
    assert psutil.Process().memory_info().rss - before < 30 << 20
    size = 10
    while chunk := response.read(1 << 20):
        size += len(chunk)
    assert size == 100 << 20


def test_many_can_follow_one_log(api: RunningApi, held: Held) -> None:
    responses = [on_socket(api).open(f"{held.log}?follow=true") for _ in range(20)]
    got: list[bytes] = []
    threads = [threading.Thread(target=lambda one=one: got.append(one.read())) for one in responses]
    for thread in threads:
        thread.start()
    for number in range(10):
        held.write(f"{number}".encode())
    held.end()
    for thread in threads:
        thread.join(PATIENCE_S)
    assert got == [b"0123456789"] * 20


@pytest.mark.parametrize("run_id", ["00000000-0000-4000-8000-000000000000", "..%2F..%2Fetc%2Fpasswd", "%2e%2e"])
def test_the_log_of_a_run_that_is_not_there_is_not_found(caller: Caller, run_id: str) -> None:
    assert caller.get(f"/v1/runs/{run_id}/log").code == "ERR_NOT_FOUND"


def test_what_is_on_another_machine_says_on_which(api: RunningApi, caller: Caller) -> None:
    held = Held(api, node="there")
    where = "is on node 'there': look there"
    for path, what in (
        (held.log, "the log"),
        (f"{held.log}?follow=true", "the log"),
        (f"/v1/jobs/{held.job_id}/artifacts/x", "artifact 'x'"),
    ):
        reply = caller.get(path)
        assert (reply.status, reply.code) == (404, "ERR_ELSEWHERE")
        assert reply.detail == f"{what} of run {held.run_id} {where}"
    for path in ("log", "log/tail"):
        assert caller.get(f"/v1/jobs/{held.job_id}/{path}").code == "ERR_ELSEWHERE"


def test_a_run_that_ended_without_a_log_has_none_elsewhere_either(api: RunningApi, caller: Caller) -> None:
    held = Held(api, node="there")
    held.end()
    assert (caller.get(held.log).body, caller.get(f"/v1/jobs/{held.job_id}/log").json["eof"]) == (b"", True)


def test_the_artifacts_of_a_job_are_listed_and_downloaded(caller: Caller, held: Held) -> None:
    held.files.artifact("report.html").write_bytes(b"<h1>ok</h1>")
    held.files.artifact("plots/a b.png").write_bytes(b"\x89PNG")
    listed = [{"name": "plots/a b.png", "size": 4}, {"name": "report.html", "size": 11}]
    assert caller.get(f"/v1/jobs/{held.job_id}/artifacts").json == listed
    assert caller.get(f"/v1/runs/{held.run_id}/artifacts").json == []
    held.end()
    assert caller.get(f"/v1/runs/{held.run_id}/artifacts").json == listed
    page = caller.get(f"/v1/jobs/{held.job_id}/artifacts/report.html")
    assert (page.body, page.headers["content-type"], page.headers["content-length"]) == (
        b"<h1>ok</h1>",
        "text/html",
        "11",
    )
    plot = caller.get("/v1/jobs/1/artifacts/plots/a%20b.png")
    assert (plot.body, plot.headers["content-type"]) == (b"\x89PNG", "image/png")
    assert plot.headers["content-disposition"] == "attachment; filename*=UTF-8''a%20b.png"
    assert caller.get("/v1/jobs/1/artifacts/plots%2Fa%20b.png").body == b"\x89PNG"


def test_what_a_job_made_never_becomes_a_page_of_ours(caller: Caller, held: Held) -> None:
    held.files.artifact("report.html").write_bytes(b"<script>")
    for path in (held.log, f"/v1/jobs/{held.job_id}/artifacts/report.html"):
        held.write(b"<script>")
        headers = caller.get(path).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["content-security-policy"] == "sandbox; default-src 'none'"


def test_a_big_artifact_comes_whole(caller: Caller, held: Held) -> None:
    content = os.urandom(5 << 20)
    held.files.artifact("big").write_bytes(content)
    assert caller.get(f"/v1/jobs/{held.job_id}/artifacts/big").body == content


@pytest.mark.parametrize(
    "name", ["../../meta.db", "..", ".", "a/../../x", "/etc/passwd", "a//b", "link", "linked/secret", "\x00", "a\nb"]
)
def test_no_name_leads_out_of_the_folder(api: RunningApi, caller: Caller, held: Held, name: str) -> None:
    held.files.artifact("fine").write_bytes(b"fine")
    held.end()
    (api.home.folder / "secret").write_text("secret")
    folder = JobFiles(api.engine.files).artifacts_of(held.job_id)
    (folder / "link").symlink_to(api.home.folder / "secret")
    (folder / "linked").symlink_to(api.home.folder)
    for path in (name, quote(name, safe=""), quote(name, safe="").replace(".", "%2e")):
        if path.isprintable():
            reply = caller.get(f"/v1/jobs/{held.job_id}/artifacts/{path}")
            assert reply.code in ("ERR_NOT_FOUND", "ERR_INVALID_INPUT"), path


def test_a_job_that_has_not_run_has_no_artifacts(caller: Caller) -> None:
    caller.enqueue()
    assert caller.get("/v1/jobs/1/artifacts").json == []
    assert caller.get("/v1/jobs/1/artifacts/x").code == "ERR_NOT_FOUND"


def test_downloads_have_a_place_among_the_long_calls() -> None:
    with running_api(long_calls=1) as api:
        held = Held(api)
        held.files.artifact("big").write_bytes(b"x" * (20 << 20))
        slow = on_socket(api)
        response = slow.open(f"/v1/jobs/{held.job_id}/artifacts/big")
        assert on_socket(api).get(f"{held.log}?follow=true").code == "ERR_TOO_MANY_LONG_CALLS"
        response.close()
        slow.close()
        until(lambda: api.long_calls.open == 0, "its end")
