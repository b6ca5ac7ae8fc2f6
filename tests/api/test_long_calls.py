"""Calls that wait: answered when there is something to say, given up when their caller goes, never in others' way."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPResponse
from itertools import takewhile
from typing import Any

import pytest

from holdfast.api import long_calls
from holdfast.core.gates.queue import QueueClass
from holdfast.core.machine.machine import JudgedMachine
from holdfast.core.machine.readings import Simulation
from holdfast.core.settings.queue_changes import QueueChanges
from holdfast.store.engine import Tx
from holdfast.store.scripts.maintenance.probed_machines import note_machine, simulate
from holdfast.store.scripts.queues.queues import set_queue
from holdfast.store.topics import FLAGS, TOPICS, Topic
from tests.api.acts import ask, asking, done, open_worker, until, work_once
from tests.api.caller import Caller, new_job, on_socket
from tests.api.running import PATIENCE_S, RunningApi, running_api
from tests.store.acts import NOW, let_time_pass, settle, write

ON_AC = JudgedMachine(is_idle=False, idle="in use", is_charging=True, charging="on AC", source="test")


def events(response: HTTPResponse) -> Iterator[dict[str, Any]]:
    """What a stream tells."""
    for line in response:
        if line.startswith(b"data: "):
            yield json.loads(line[6:])


def test_a_wait_is_answered_when_the_job_has_ended(api: RunningApi, caller: Caller) -> None:
    caller.enqueue()
    with asking(api, "/v1/jobs/1/wait") as answer:
        work_once(api)
        assert answer()["state"]["result_summary"] == "42"
    assert api.long_calls.open == 0


def test_a_wait_for_a_job_that_has_ended_is_answered_at_once(api: RunningApi, caller: Caller) -> None:
    caller.enqueue()
    caller.post("/v1/jobs/1/cancel")
    assert caller.get("/v1/jobs/1/wait?timeout_ms=3600000").json["state"]["name"] == "CANCELLED"


def test_a_wait_that_is_over_shows_the_job_as_it_is(caller: Caller) -> None:
    caller.enqueue()
    assert caller.get("/v1/jobs/1/wait?timeout_ms=1").json["state"]["name"] == "QUEUED"


def test_a_wait_for_a_job_that_is_not_there_is_not_found(caller: Caller) -> None:
    assert caller.get("/v1/jobs/nowhere/wait").code == "ERR_NOT_FOUND"


def test_a_wait_goes_on_with_the_next_link_of_a_chain(api: RunningApi, caller: Caller) -> None:
    caller.enqueue(policy={"retries": 1, "mode": "CHAIN", "initial_ms": 0})
    with asking(api, "/v1/jobs/1/wait") as answer:
        request = open_worker(caller, "default")
        [run] = caller.post("/v1/exchange", ask(request)).json["claimed"]
        failed = {"type": "Broke", "failure": {"kind": "transient", "code": "E", "message": "no"}}
        caller.post("/v1/exchange", ask(request | {"slots": 0}, reports=[done(run) | {"outcome": failed}]))
        let_time_pass(api.engine, 10**14)
        last = work_once(api)
        said = answer()
    assert (said["id"], said["retry_of"], said["state"]["name"]) == (last, run["job_id"], "DONE")


def test_an_exchange_waits_for_work(api: RunningApi, caller: Caller) -> None:
    request = open_worker(caller, "default")
    with asking(api, "/v1/exchange/wait?timeout_ms=60000", ask(request)) as answer:
        job_id = caller.enqueue()
        [run] = answer()["claimed"]
    assert (run["job_id"], run["task"], run["attempt"]) == (job_id, "t", 1)
    assert caller.get(f"/v1/runs/{run['run_id']}").json["session_id"] == request["session_id"]


def test_an_exchange_hears_that_a_job_should_stop(api: RunningApi, caller: Caller) -> None:
    request = open_worker(caller, "default")
    caller.enqueue()
    [run] = caller.post("/v1/exchange", ask(request)).json["claimed"]
    with asking(api, "/v1/exchange/wait", ask(request | {"slots": 0})) as answer:
        assert caller.post("/v1/jobs/1/cancel").json["requested"] == 1
        assert answer()["stops"] == [{"run_id": run["run_id"], "stop_reason": "cancel"}]


def test_a_run_that_goes_on_although_it_was_asked_to_make_room_does_not_end_every_wait(
    api: RunningApi, caller: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(long_calls, "LOOK_AGAIN_S", PATIENCE_S)
    write(api.engine, note_machine, "here", ON_AC, None, NOW)
    write(api.engine, set_queue, "heavy", QueueChanges(queue_class=QueueClass.HEAVY))
    request = open_worker(caller, "heavy", "default")
    caller.enqueue(queue="heavy")
    [run] = caller.post("/v1/exchange", ask(request)).json["claimed"]
    asked = [{"run_id": run["run_id"], "stop_reason": "yield"}]
    with asking(api, "/v1/exchange/wait?timeout_ms=60000", ask(request)) as answer:
        write(api.engine, simulate, "here", Simulation(charging=False), NOW)
        assert answer()["stops"] == asked
    with asking(api, "/v1/exchange/wait?timeout_ms=60000", ask(request)) as answer:
        job_id = caller.enqueue()
        said = answer()
    assert [taken["job_id"] for taken in said["claimed"]] == [job_id]
    assert said["stops"] == asked


def test_an_exchange_that_reports_is_answered_at_once(api: RunningApi, caller: Caller) -> None:
    request = open_worker(caller, "default")
    caller.enqueue()
    [run] = caller.post("/v1/exchange", ask(request)).json["claimed"]
    said = caller.post("/v1/exchange/wait?timeout_ms=3600000", ask(request, reports=[done(run)])).json
    assert said["settled"] == [{"run_id": run["run_id"], "job_id": run["job_id"], "state": "DONE", "refused": None}]


def test_an_exchange_with_nothing_to_say_ends_with_its_time(caller: Caller) -> None:
    request = open_worker(caller, "default")
    assert caller.post("/v1/exchange/wait?timeout_ms=1", ask(request)).json == {
        "settled": [],
        "claimed": [],
        "stops": [],
    }


def test_workers_that_offer_different_tasks_are_all_asked(api: RunningApi, caller: Caller) -> None:
    others = [open_worker(caller, "default") | {"tasks": [f"other{number}"]} for number in range(10)]
    request = open_worker(caller, "default")
    callers = [on_socket(api) for _ in others]
    with ThreadPoolExecutor(10) as pool:
        waiting = [
            pool.submit(other.post, "/v1/exchange/wait?timeout_ms=60000", ask(body))
            for other, body in zip(callers, others, strict=True)
        ]
        until(lambda: api.long_calls.open == 10, "the long calls")
        with asking(api, "/v1/exchange/wait?timeout_ms=60000", ask(request)) as answer:
            job_id = caller.enqueue()
            assert [run["job_id"] for run in answer()["claimed"]] == [job_id]
        for number in range(10):
            caller.enqueue(task=f"other{number}")
        assert all(len(future.result(PATIENCE_S).json["claimed"]) == 1 for future in waiting)


def test_jobs_that_come_together_go_to_all_workers_that_wait(
    api: RunningApi, caller: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(long_calls, "LOOK_AGAIN_S", 1_000.0)
    requests = [open_worker(caller, "default") for _ in range(20)]
    callers = [on_socket(api) for _ in requests]
    with ThreadPoolExecutor(20) as pool:
        waiting = [
            pool.submit(one.post, "/v1/exchange/wait?timeout_ms=60000", ask(request))
            for one, request in zip(callers, requests, strict=True)
        ]
        until(lambda: api.long_calls.open == 20, "the long calls")
        caller.post("/v1/jobs", {"jobs": [new_job() for _ in range(20)]})
        assert [len(future.result(PATIENCE_S).json["claimed"]) for future in waiting] == [1] * 20


def test_a_stream_tells_what_changes(api: RunningApi, caller: Caller) -> None:
    stream = on_socket(api)
    response = stream.open("/v1/changes")
    assert (response.status, response.headers["content-type"]) == (200, "text/event-stream")
    told = events(response)
    assert response.readline() == b": hello\n"
    job_id = caller.enqueue(queue="mail")
    assert next(told)["ready"] == ["mail"]
    caller.post("/v1/jobs/1/cancel")
    assert next(told)["ended"] == [job_id]
    stream.close()
    response.close()


def test_a_stream_tells_a_topic_that_old_readers_do_not_know(
    api: RunningApi, caller: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    weather = Topic("weather", by_stream=True)
    monkeypatch.setitem(TOPICS, weather.name, weather)
    stream = on_socket(api)
    response = stream.open("/v1/changes")
    told = events(response)
    assert response.readline() == b": hello\n"

    def tell(tx: Tx) -> None:
        tx.changes.topics.add(weather)

    api.engine.submit(tell).result()
    line = next(told)
    assert line["topics"] == ["weather"]
    assert not any(line[flag] for flag in FLAGS)
    stream.close()
    response.close()


def test_a_stream_of_some_tasks_leaves_out_what_is_new_for_others(api: RunningApi, caller: Caller) -> None:
    stream = on_socket(api)
    response = stream.open("/v1/changes?tasks=t&tasks=u")
    told = events(response)
    caller.enqueue(task="of-others", queue="first")
    caller.post("/v1/jobs/1/cancel")
    caller.enqueue(task="u", queue="second")
    assert next(told)["ready"] == ["second"]
    caller.post("/v1/queues/first/pause")
    caller.post("/v1/queues/first/resume")
    assert next(told)["ready"] == ["first"]  # Whatever waits there may start now.
    stream.close()
    response.close()


def test_an_exchange_is_not_woken_for_a_task_of_others(
    api: RunningApi, caller: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(long_calls, "LOOK_AGAIN_S", PATIENCE_S)
    request = open_worker(caller, "default")
    with asking(api, "/v1/exchange/wait?timeout_ms=60000", ask(request)) as answer:
        [waiter] = api.hub._all
        woken: list[str] = []
        with monkeypatch.context() as patched:
            patched.setattr(waiter, "wake", lambda: woken.append("woken"))
            caller.enqueue(task="of-others")
            settle(api.engine)
            api.do(asyncio.sleep(0))
            assert woken == []
        job_id = caller.enqueue(task="t")
        assert [run["job_id"] for run in answer()["claimed"]] == [job_id]


def test_a_stream_with_nothing_to_tell_shows_that_it_lives(api: RunningApi, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(long_calls, "BREATH_S", 0.01)
    stream = on_socket(api)
    response = stream.open("/v1/changes")
    assert [response.readline() for _ in range(4)] == [b": hello\n", b"\n", b": still here\n", b"\n"]
    response.close()
    stream.close()


@pytest.mark.parametrize(
    ("path", "with_body"),
    [
        ("/v1/jobs/1/wait?timeout_ms=3600000", False),
        ("/v1/exchange/wait?timeout_ms=3600000", True),
        ("/v1/changes", False),
    ],
)
def test_a_caller_that_vanishes_makes_room_at_once(api: RunningApi, caller: Caller, path: str, with_body: bool) -> None:
    caller.enqueue(queue="elsewhere")
    body = json.dumps(ask(open_worker(caller, "default"))).encode() if with_body else b""
    head = f"{'POST' if with_body else 'GET'} {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as door:
        door.connect(str(api.home.socket))
        door.sendall(head.encode() + body)
        until(lambda: api.long_calls.open == 1, "the long call")
    until(lambda: api.long_calls.open == 0, "its end")


def test_more_long_calls_than_there_are_places_are_refused() -> None:
    with running_api(long_calls=2) as api:
        caller, streams = on_socket(api), [on_socket(api) for _ in range(2)]
        caller.enqueue()
        responses = [stream.open("/v1/changes") for stream in streams]
        for path in ("/v1/changes", "/v1/jobs/1/wait"):
            reply = caller.get(path)
            assert (reply.status, reply.code, reply.headers["retry-after"]) == (429, "ERR_TOO_MANY_LONG_CALLS", "1")
        assert api.long_calls.refused == 2
        assert caller.get("/v1/stats").status == 200
        for stream, response in zip(streams, responses, strict=True):
            response.close()
            stream.close()
        until(lambda: api.long_calls.open == 0, "their end")
        assert caller.get("/v1/jobs/1/wait?timeout_ms=1").status == 200


def test_a_daemon_that_stops_lets_nobody_wait(api: RunningApi, caller: Caller) -> None:
    caller.enqueue()
    stream = on_socket(api)
    response = stream.open("/v1/changes")
    with asking(api, "/v1/jobs/1/wait?timeout_ms=3600000") as answer:

        async def cut() -> None:
            api.hub.cut()

        api.do(cut())
        assert answer()["code"] == "ERR_NOT_READY"
    assert response.read().endswith(b"\n\n")
    assert caller.get("/v1/changes").code == "ERR_NOT_READY"
    response.close()
    stream.close()


def test_while_a_daemon_stops_its_workers_deliver_and_take_nothing_new(api: RunningApi, caller: Caller) -> None:
    request = open_worker(caller, "default")
    caller.enqueue()
    [run] = caller.post("/v1/exchange", ask(request)).json["claimed"]
    caller.enqueue()
    api.missing, api.is_stopping = "the daemon is stopping", True
    said = caller.post("/v1/exchange", ask(request, reports=[done(run)])).json
    assert ([settled["state"] for settled in said["settled"]], said["claimed"]) == (["DONE"], [])
    assert caller.post("/v1/jobs", {"jobs": [new_job()]}).code == "ERR_NOT_READY"


def test_a_reader_that_does_not_read_costs_no_memory_and_is_told_to_look(api: RunningApi, caller: Caller) -> None:
    stream = on_socket(api)
    response = stream.open("/v1/changes")
    assert response.readline() == b": hello\n"
    [subscription] = api.hub._streams
    for _ in range(8):
        caller.post("/v1/jobs", {"jobs": [new_job() for _ in range(4_000)]})
        caller.post("/v1/jobs/bulk", {"action": "cancel", "wanted": {}, "limit": 4_000})
        waiting = subscription._told
        assert waiting is None or len(waiting.changes.ended) <= 5_000
    told = list(takewhile(lambda event: not event["unknown"], events(response)))
    assert sum(len(event["ended"]) for event in told) < 32_000
    response.close()
    stream.close()


def test_five_hundred_long_calls_are_all_answered_and_short_ones_meanwhile(many_files: None) -> None:
    with running_api(long_calls=600) as api:
        caller = on_socket(api)
        jobs = [new_job(queue="waited") for _ in range(200)]
        caller.post("/v1/jobs", {"jobs": jobs})
        workers = [open_worker(caller, f"q{number}") for number in range(200)]
        waits = [f"/v1/jobs/{job['id']}/wait?timeout_ms=120000" for job in jobs]
        streams = [on_socket(api) for _ in range(100)]
        callers = [on_socket(api) for _ in range(400)]
        with ThreadPoolExecutor(400) as pool:
            waiting = [pool.submit(one.get, path) for one, path in zip(callers[:200], waits, strict=True)]
            working = [
                pool.submit(one.post, "/v1/exchange/wait?timeout_ms=120000", ask(request))
                for one, request in zip(callers[200:], workers, strict=True)
            ]
            responses = [stream.open("/v1/changes") for stream in streams]
            until(lambda: api.long_calls.open == 500, "five hundred long calls")
            for number in range(200):
                assert caller.get("/v1/jobs/1").status == 200
                caller.enqueue(queue=f"q{number}")
            caller.post("/v1/jobs/bulk", {"action": "cancel", "wanted": {"queue": "waited"}})
            assert [len(one.result(PATIENCE_S).json["claimed"]) for one in working] == [1] * 200
            assert {one.result(PATIENCE_S).json["state"]["name"] for one in waiting} == {"CANCELLED"}
        for response, stream in zip(responses, streams, strict=True):
            assert next(events(response))["ready"]
            response.close()
            stream.close()
        for one in callers:
            one.close()
        until(lambda: api.long_calls.open == 0, "their end")


def test_a_daemon_that_is_not_ready_hands_out_nothing(api: RunningApi, caller: Caller) -> None:
    caller.enqueue()
    request = open_worker(caller, "default")
    api.missing = "the daemon is starting"
    for path in ("/v1/exchange", "/v1/exchange/wait?timeout_ms=0"):
        assert caller.post(path, ask(request)).code == "ERR_NOT_READY"
    api.missing = None
    assert len(caller.post("/v1/exchange/wait?timeout_ms=0", ask(request)).json["claimed"]) == 1


def test_an_exchange_with_long_payloads_says_the_same(api: RunningApi, caller: Caller) -> None:
    long = [caller.enqueue(payload={"text": "x" * 200_000}) for _ in range(3)]
    request = open_worker(caller, "default") | {"slots": 9, "queues": [{"queue": "default", "slots": 9}]}
    reply = caller.post("/v1/exchange/wait?timeout_ms=0", ask(request)).json
    assert [run["job_id"] for run in reply["claimed"]] == long
    assert [json.loads(run["payload"]) for run in reply["claimed"]] == [{"text": "x" * 200_000}] * 3
    assert (reply["settled"], reply["stops"]) == ([], [])
