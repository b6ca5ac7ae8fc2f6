"""The API in OpenAPI 3.1, made from the table of calls."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import msgspec

from holdfast.api.answers import PROBLEM
from holdfast.version import VERSION
from holdfast.wire.call import JSON, ApiCall
from holdfast.wire.problem import Problem

REF = "#/components/schemas/{name}"
DESCRIBED_AS = {"StoppedByCancel": "GivenCancelled"}  # The names that clients know, where the code has others.
ABOUT = (
    "The durable background runtime of a machine. On the unix socket of the daemon no token is needed; on TCP every "
    "call carries a token, and `x-role` is the role that its user needs at least. Moments are milliseconds since the "
    "epoch, UTC. Jobs are named by id or by number. Errors are problem documents with a stable `code`."
)
TAGS = {
    "jobs": "Requests to run a task.",
    "dead letters": "Jobs that failed for good, by what they failed of.",
    "runs": "Tries at a job.",
    "templates": "Requests that are kept by name, to make jobs from.",
    "schedules": "Cron expressions that make jobs from templates.",
    "groups": "Jobs that belong together.",
    "events": "Things that happened, and what they triggered.",
    "apps": "Classes with handlers of events and timers, and what these did.",
    "workspaces": "A program and a home that live long, and what each of them shall be.",
    "watches": "Folders and git repositories whose changes become jobs.",
    "webhooks": "Who is told about events over HTTP.",
    "queues": "Lanes of jobs, with limits of their own.",
    "tasks": "What workers have declared that they can run.",
    "tenants": "Who shares a queue, and how much each one's word counts.",
    "machines": "What the machines are like that run jobs.",
    "reservations": "Keep a queue, or everything, free of new runs.",
    "sessions": "Lives of processes that run jobs.",
    "users": "Who may call by TCP, and what each may do.",
    "workers": "For processes that run jobs: the exchange protocol.",
    "maintenance": "What a database needs now and then.",
    "system": "The daemon itself.",
}


@cache
def describe(calls: Sequence[ApiCall]) -> dict[str, Any]:
    """The whole description."""
    kinds = [part for call in calls for part in (call.path_part, call.query_part, call.body_part, call.returns)]
    shapes, components = msgspec.json.schema_components([*kinds, Problem], ref_template=REF)
    paths: dict[str, dict[str, Any]] = {}
    for number, call in enumerate(calls):
        *parts, returns = shapes[4 * number : 4 * number + 4]
        path, query, body = (components[part["$ref"].rpartition("/")[2]] for part in parts)
        place = call.path.replace(":path}", "}")
        paths.setdefault(place, {})[call.method.lower()] = _operation(call, path, query, body, returns)
    used = _used(paths, components)
    return _named_shortly(
        {
            "openapi": "3.1.0",
            "info": {"title": "Holdfast", "version": VERSION, "description": ABOUT},
            "tags": [{"name": name, "description": text} for name, text in TAGS.items()],
            "security": [{"token": []}],
            "paths": paths,
            "components": {
                "schemas": {name: components[name] for name in sorted(used)},
                "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            },
        },
        sorted(used),
    )


def _operation(
    call: ApiCall, path: dict[str, Any], query: dict[str, Any], body: dict[str, Any], returns: dict[str, Any]
) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": call.name,
        "tags": [call.tag],
        "summary": call.summary,
        "description": call.description,
        **_access(call),
        "parameters": [*_parameters("path", path), *_parameters("query", query)],
    }
    if body.get("properties"):
        # A body that may be left out is an empty object.
        operation["requestBody"] = {"required": bool(body.get("required")), "content": {JSON: {"schema": _plain(body)}}}
    operation["responses"] = {
        str(call.status): _done(call, returns),
        "default": {
            "description": "A problem.",
            "content": {PROBLEM: {"schema": {"$ref": REF.format(name="Problem")}}},
        },
    }
    return operation


def _access(call: ApiCall) -> dict[str, Any]:
    """What a caller needs."""
    return {"security": []} if call.role is None else {"x-role": call.role}


def _done(call: ApiCall, returns: dict[str, Any]) -> dict[str, Any]:
    schema = returns if call.media == JSON else {}
    done: dict[str, Any] = {"description": "Done.", "content": {call.media: {"schema": schema}}}
    if call.headers:
        done["headers"] = {
            name: {"description": text, "schema": {"type": kind}} for name, (kind, text) in call.headers.items()
        }
    return done


def _parameters(place: str, shape: dict[str, Any]) -> list[dict[str, Any]]:
    required = shape.get("required", ())
    return [
        {"name": name, "in": place, "required": name in required, "schema": schema}
        for name, schema in shape.get("properties", {}).items()
    ]


def _plain(shape: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in shape.items() if key != "title"}


def _used(node: Any, components: dict[str, Any]) -> set[str]:
    """All shapes that are referred to, directly or through others."""
    used: set[str] = {"Problem"}
    todo = [node, components["Problem"]]
    while todo:
        at = todo.pop()
        if isinstance(at, dict):
            todo += at.values()
            name = str(at.get("$ref", "")).rpartition("/")[2]
            if name and name not in used:
                used.add(name)
                todo.append(components[name])
        elif isinstance(at, list):
            todo += at
    return used


def _named_shortly(description: dict[str, Any], names: list[str]) -> dict[str, Any]:
    """Give short names to shapes that share a name, which msgspec calls by long ones. That of a request is `Given…`."""
    short: dict[str, str] = {}
    for name in names:
        last = name.rpartition(".")[2]
        of_request = name.startswith("holdfast.wire.") and name != last
        short[name] = f"Given{last}" if of_request else DESCRIBED_AS.get(last, last)
    text = msgspec.json.encode(description).decode()
    for name, to in sorted(short.items(), key=lambda item: -len(item[0])):
        for around in (f'"{REF}"', '"{name}":'):
            text = text.replace(around.format(name=name), around.format(name=to))
    return msgspec.json.decode(text)  # type: ignore[no-any-return]
