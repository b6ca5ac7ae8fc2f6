"""Answers: JSON by msgspec, errors as problem details (RFC 9457)."""

from __future__ import annotations

from typing import Any

import msgspec
from starlette.responses import Response

from holdfast.api.reading import TooLarge
from holdfast.core import errors
from holdfast.wire.problem import Problem

STATUS: dict[type[errors.HoldfastError], int] = {
    TooLarge: 413,
    errors.InvalidInput: 400,
    errors.NotFound: 404,
    errors.Conflict: 409,
    errors.Busy: 409,
    errors.StoreFull: 507,
    errors.StoreBusy: 503,
    errors.StoreUnavailable: 503,
    errors.OutcomeUnknown: 503,
    errors.StoreError: 500,
}


def answer(value: Any, status: int = 200) -> Response:
    """A value as JSON."""
    return Response(msgspec.json.encode(value), status, media_type="application/json")


def problem(status: int, code: str, detail: str, headers: dict[str, str] | None = None) -> Response:
    """An error as a problem document."""
    body = msgspec.json.encode(Problem(_TITLES.get(status, "Error"), status, detail, code))
    return Response(body, status, headers, media_type="application/problem+json")


def problem_of(error: errors.HoldfastError) -> Response:
    """The problem document that stands for one of our errors."""
    status = next((status for kind, status in STATUS.items() if isinstance(error, kind)), 500)
    return problem(status, error.code, str(error), {"Retry-After": "1"} if status == 503 else None)


_TITLES = {
    400: "Bad request",
    401: "Unauthorized",
    403: "Forbidden",
    404: "Not found",
    405: "Method not allowed",
    409: "Conflict",
    413: "Too large",
    415: "Unsupported media type",
    429: "Too many requests",
    421: "Misdirected request",
    500: "Internal error",
    503: "Unavailable",
    507: "Out of room",
}
