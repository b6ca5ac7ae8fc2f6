"""What tests of the API do: be a worker, and have a long call open."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest

from holdfast.core.errors import StoreFull
from tests.api.caller import Caller, new_id, on_socket
from tests.api.running import PATIENCE_S, RunningApi


def until(condition: Callable[[], bool], what: str) -> None:
    """Wait for something that others bring about."""
    told = threading.Event()
    for _ in range(round(PATIENCE_S / 0.01)):
        if condition():
            return
        told.wait(0.01)
    pytest.fail(f"{what} took too long")


def open_worker(caller: Caller, *queues: str, node: str = "here") -> dict[str, Any]:
    """A session with a worker; the request with which it claims one job."""
    session_id, worker_id = new_id(), new_id()
    session = {"id": session_id, "kind": "worker", "node": node, "boot_id": "b", "pid": 1}
    offer = {"worker_id": worker_id, "name": "w", "tasks": ["t"], "queues": queues, "slots": 1}
    assert caller.post("/v1/sessions", {"session": session, "offer": offer}).status == 201
    lanes = [{"queue": queue, "slots": 1} for queue in queues]
    return {"session_id": session_id, "worker_id": worker_id, "slots": 1, "queues": lanes, "tasks": ["t"]}


def ask(request: dict[str, Any], **more: Any) -> dict[str, Any]:
    """An exchange with this request for jobs."""
    return {"reports": [], "progress": [], "request": request} | more


def done(run: dict[str, Any]) -> dict[str, Any]:
    """The report of a run that went well."""
    outcome = {"type": "Completed", "result": "42"}
    return {"run_id": run["run_id"], "job_id": run["job_id"], "duration_ms": 1, "outcome": outcome}


def work_once(api: RunningApi, queue: str = "default", caller: Caller | None = None) -> str:
    """Claim a job and finish it; its id."""
    caller = caller or on_socket(api)
    request = open_worker(caller, queue)
    [run] = caller.post("/v1/exchange", ask(request)).json["claimed"]
    caller.post("/v1/exchange", ask(request | {"slots": 0}, reports=[done(run)]))
    caller.close()
    job_id: str = run["job_id"]
    return job_id


@contextmanager
def asking(api: RunningApi, path: str, body: Any = None) -> Iterator[Callable[[], Any]]:
    """A long call that is open inside the block; what it says when it is answered."""
    caller = on_socket(api)
    before = api.long_calls.open
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(caller.get, path) if body is None else pool.submit(caller.post, path, body)
        until(lambda: api.long_calls.open > before or answer.done(), "the long call")
        yield lambda: answer.result(PATIENCE_S).json
    caller.close()


def looks_write_nothing(api: RunningApi, caller: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    """Searches and dry runs are read transactions, although they are sent by POST."""

    async def refuse(*args: Any, **kw: Any) -> None:
        raise StoreFull("nothing can be written")

    job_id, cancel = caller.enqueue(), {"action": "cancel", "wanted": {}}
    monkeypatch.setattr(api.engine, "write", refuse)
    assert [job["id"] for job in caller.post("/v1/jobs/search", {"wanted": {}}).json["jobs"]] == [job_id]
    assert caller.post("/v1/jobs/bulk", cancel | {"dry_run": True}).json["jobs"] == 1
    assert caller.post("/v1/jobs/bulk", cancel).code == "ERR_STORE_FULL"
