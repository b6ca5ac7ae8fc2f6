"""Whether arguments can fit a task, by the names and kinds in the JSON schema that it declares.

The worker checks what is inside an argument, by the type hints. What is refused here would be refused there too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holdfast.core.rules import limits
from holdfast.core.values.filling import MARK


def is_readable(schema: Mapping[str, Any]) -> bool:
    """Whether the parts of a foreign schema that are read here have the right shape."""
    parts = [schema.get(name, {}) for name in ("properties", "$defs")]
    needed = schema.get("required", [])
    return (
        all(isinstance(part, dict) and all(isinstance(one, dict) for one in part.values()) for part in parts)
        and isinstance(needed, list)
        and all(isinstance(name, str) for name in needed)
    )


def misfit(schema: Mapping[str, Any], arguments: Mapping[str, Any], *, in_part: bool = False) -> str | None:
    """Why a task with this schema cannot take these arguments, in words. None: it may.

    `in_part`: others may be added to them.
    """
    if not schema:
        return None
    if not isinstance(arguments, Mapping):
        return "it is no object with the arguments by name"
    properties = schema.get("properties", {})
    if not schema.get("additionalProperties", True):
        for name in arguments:
            if name not in properties:
                takes = ", ".join(properties) or "none"
                return f"it has no argument {limits.shown(name)}; it takes {takes}"
    for name in schema.get("required", ()):
        if name not in arguments and not in_part:
            return f"argument {name!r} is missing"
    for name, value in arguments.items():
        kinds = _kinds(properties.get(name, {}), schema.get("$defs", {}))
        # The result of the job before is known only when the run starts.
        if kinds is not None and value != MARK and not _is_one_of(value, kinds):
            # The value itself may be a secret.
            return f"argument {name!r} takes {' or '.join(sorted(kinds))}, not {_kind_of(value)}"
    return None


def _kinds(schema: Any, shapes: Mapping[str, Any]) -> set[str] | None:
    """The kinds of JSON values that a schema allows. None: any, or it is not known."""
    kinds: set[str] = set()
    met: set[str] = set()
    left = [schema]
    while left:
        one = left.pop()
        if not isinstance(one, dict):
            return None
        several = one.get("anyOf", one.get("oneOf"))
        if "$ref" in one:
            name = str(one["$ref"]).rpartition("/")[2]
            if name not in met:  # A shape may contain itself, or be part of many others.
                met.add(name)
                left.append(shapes.get(name))
        elif isinstance(several, list):
            left += several
        elif (found := _own_kinds(one)) is not None:
            kinds |= found
        else:
            return None
    return kinds or None


def _own_kinds(schema: Mapping[str, Any]) -> set[str] | None:
    """The same for a schema without other schemas in it."""
    said = schema.get("type")
    if isinstance(schema.get("enum"), list):
        return {_kind_of(value) for value in schema["enum"]}
    if "const" in schema:
        return {_kind_of(schema["const"])}
    if schema.get("format") == "decimal":
        return {"string", "number"}
    if isinstance(said, str):
        return {said}
    return set(map(str, said)) if isinstance(said, list) else None


def _is_one_of(value: Any, kinds: set[str]) -> bool:
    kind = _kind_of(value)
    return kind in kinds or (kind == "integer" and "number" in kinds)


def _kind_of(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "integer" if value.is_integer() else "number"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"
