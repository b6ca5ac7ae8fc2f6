"""A worker that speaks protocol 1, as those of 0.4 do: it knows of no secret, and holds a run since before the upgrade.

Called with the socket of the daemon, its session, and the run and job that it holds; prints what it was answered.
"""

from __future__ import annotations

import http.client
import json
import socket
import sys
from typing import Any


def call(method: str, path: str, body: Any = None) -> Any:
    connection = http.client.HTTPConnection("localhost", timeout=30)
    connection.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.sock.connect(sys.argv[1])
    connection.request(method, path, None if body is None else json.dumps(body))
    response = connection.getresponse()
    said = json.loads(response.read())
    connection.close()
    if response.status >= 400:
        raise SystemExit(f"{method} {path}: {said['code']}: {said['detail']}")
    return said


def completed(run_id: str, job_id: str, result: str) -> dict[str, Any]:
    outcome = {"type": "Completed", "result": result}
    return {
        "run_id": run_id,
        "job_id": job_id,
        "outcome": outcome,
        "duration_ms": 1,
        "exit_code": None,
        "traceback": None,
        "artifacts": None,
        "log_path": None,
    }


def exchange(session_id: str, slots: int, *reports: dict[str, Any]) -> Any:
    request = {
        "session_id": session_id,
        "slots": slots,
        "queues": [{"queue": "old", "slots": slots}],
        "tasks": ["old"],
        "worker_id": None,
        "wild_tasks": None,
    }
    return call("POST", "/v1/exchange", {"reports": reports, "progress": [], "request": request, "holds": None})


def main() -> None:
    _, _, session_id, run_id, job_id = sys.argv
    # A program of 0.4 goes away if the daemon speaks anything else.
    protocol = call("GET", "/v1/hello")["protocol"]
    beaten = call("POST", f"/v1/sessions/{session_id}/beat", {})
    call("PUT", f"/v1/runs/{run_id}/checkpoint", {"job_id": job_id, "data": '{"page":3}'})
    [first] = exchange(session_id, 0, completed(run_id, job_id, '"from before"'))["settled"]
    [run] = exchange(session_id, 1)["claimed"]
    [second] = call("POST", "/v1/reports", {"reports": [completed(run["run_id"], run["job_id"], '"and after"')]})
    closed = call("POST", f"/v1/sessions/{session_id}/close", {"status": "success"})
    print(json.dumps([protocol, beaten, first["refused"], second["refused"], closed]))


main()
