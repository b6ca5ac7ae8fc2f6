"""A hook of schemathesis: some of the bodies that it sends are made nearly as large as a payload or a body may be."""

from __future__ import annotations

from typing import Any

import schemathesis

from holdfast.core.rules.limits import MAX_PAYLOAD

SIZES = (MAX_PAYLOAD // 2, MAX_PAYLOAD - 20, MAX_PAYLOAD, MAX_PAYLOAD + 1, 4 * MAX_PAYLOAD)
LARGE = ("payload", "attributes", "data", "result", "checkpoint")


@schemathesis.hook
def map_body(context: Any, body: Any) -> Any:
    """Fill the first field that holds a document of the caller's; which size depends on what was there."""
    return _filled(body, SIZES[len(repr(body)) % len(SIZES)])


def _filled(node: Any, size: int) -> Any:
    if isinstance(node, dict):
        return {name: _grown(value, size) if name in LARGE else _filled(value, size) for name, value in node.items()}
    if isinstance(node, list):
        return [_filled(value, size) if place == 0 else value for place, value in enumerate(node)]
    return node


def _grown(value: Any, size: int) -> Any:
    if isinstance(value, dict):
        return value | {"filled": "x" * size}
    return "x" * size if isinstance(value, str) else value
