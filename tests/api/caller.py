"""A program that speaks HTTP to the API, as one in any language would: nothing of ours but the address."""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Mapping
from typing import Any
from uuid import uuid4

from tests.api.running import PATIENCE_S, RunningApi


class UnixConnection(http.client.HTTPConnection):
    """HTTP on a unix socket."""

    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=PATIENCE_S)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


class Reply:
    """An answer, read to its end."""

    def __init__(self, response: http.client.HTTPResponse) -> None:
        self.status = response.status
        self.headers = {name.lower(): value for name, value in response.getheaders()}
        self.body = response.read()

    @property
    def json(self) -> Any:
        """What it says."""
        return json.loads(self.body)

    @property
    def code(self) -> str:
        """The code of a problem, which is what it must be."""
        assert self.headers["content-type"] == "application/problem+json", self.body
        assert self.json["status"] == self.status
        code: str = self.json["code"]
        return code

    @property
    def detail(self) -> str:
        """What a problem says to a person."""
        assert self.code
        detail: str = self.json["detail"]
        return detail


class Caller:
    """One caller with one connection."""

    def __init__(self, connection: http.client.HTTPConnection, headers: Mapping[str, str] | None = None) -> None:
        self.connection = connection
        self._headers = dict(headers or {})

    def get(self, path: str, **headers: str) -> Reply:
        """GET."""
        return self.send("GET", path, None, headers)

    def post(self, path: str, body: Any = None, **headers: str) -> Reply:
        """POST; anything but bytes is sent as JSON."""
        return self.send("POST", path, body, headers)

    def put(self, path: str, body: Any = None, **headers: str) -> Reply:
        """PUT; anything but bytes is sent as JSON."""
        return self.send("PUT", path, body, headers)

    def send(self, method: str, path: str, body: Any, headers: Mapping[str, str]) -> Reply:
        """Any request."""
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        self.connection.request(method, path, data, self._headers | dict(headers))
        return Reply(self.connection.getresponse())

    def open(self, path: str, body: Any = None) -> http.client.HTTPResponse:
        """Ask, and read the head of the answer only."""
        method, data = ("GET", None) if body is None else ("POST", json.dumps(body).encode())
        self.connection.request(method, path, data, self._headers)
        return self.connection.getresponse()

    def enqueue(self, **fields: Any) -> str:
        """Store one job; its id."""
        reply = self.post("/v1/jobs", {"jobs": [new_job(**fields)]})
        assert reply.status == 201, reply.body
        [stored] = reply.json
        job_id: str = stored["id"]
        return job_id

    def close(self) -> None:
        """Hang up."""
        self.connection.close()


def on_socket(api: RunningApi) -> Caller:
    """A caller on the unix socket."""
    return Caller(UnixConnection(str(api.home.socket)))


def on_tcp(api: RunningApi, **headers: str) -> Caller:
    """A caller on TCP, with the token unless the headers say otherwise."""
    assert api.port is not None
    connection = http.client.HTTPConnection("127.0.0.1", api.port, timeout=PATIENCE_S)
    return Caller(connection, {"Authorization": f"Bearer {api.token}"} | headers)


def new_id() -> str:
    """An id as a caller makes it."""
    return str(uuid4())


def new_job(**fields: Any) -> dict[str, Any]:
    """A job as it stands in a request."""
    return {"id": new_id(), "task": "t"} | fields
