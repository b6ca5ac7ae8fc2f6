"""The API in OpenAPI 3.1, made from the table of calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from holdfast.wire.calls import Call
from holdfast.wire.problem import Problem

REF = "#/components/schemas/{name}"


def describe(calls: Sequence[Call]) -> dict[str, Any]:
    """The whole description."""
    types = [kind for call in calls for kind in (call.request, call.returns)]
    shapes, components = msgspec.json.schema_components([*types, Problem], ref_template=REF)
    paths: dict[str, dict[str, Any]] = {}
    for number, call in enumerate(calls):
        request, returns = shapes[2 * number], shapes[2 * number + 1]
        paths.setdefault(call.path, {})[call.method.lower()] = _operation(call, request, returns, components)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Holdfast", "version": "1", "description": "The durable background runtime of a machine."},
        "paths": paths,
        "components": {"schemas": components},
    }


def _operation(
    call: Call, request: dict[str, Any], returns: dict[str, Any], components: dict[str, Any]
) -> dict[str, Any]:
    shape = components[request["$ref"].rpartition("/")[2]] if "$ref" in request else request
    fields = shape.get("properties", {})
    required = set(shape.get("required", ()))
    parameters = [_parameter(name, "path", fields[name], True) for name in call.in_path]
    operation: dict[str, Any] = {"operationId": call.name, "tags": [call.tag], "summary": call.summary}
    rest = {name: field for name, field in fields.items() if name not in call.in_path}
    if not call.writes:
        parameters += [_parameter(name, "query", field, name in required) for name, field in rest.items()]
    elif rest:
        body = {
            "type": "object",
            "properties": rest,
            "required": sorted(required & set(rest)),
            "additionalProperties": False,
        }
        operation["requestBody"] = {
            "required": bool(required & set(rest)),
            "content": {"application/json": {"schema": body}},
        }
    operation["parameters"] = parameters
    operation["responses"] = {
        str(call.status): {"description": "done", "content": {"application/json": {"schema": returns}}},
        "default": {
            "description": "a problem",
            "content": {"application/problem+json": {"schema": {"$ref": REF.format(name="Problem")}}},
        },
    }
    return operation


def _parameter(name: str, place: str, schema: dict[str, Any], required: bool) -> dict[str, Any]:
    return {"name": name, "in": place, "required": required, "schema": schema}
