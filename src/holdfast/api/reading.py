"""From an HTTP request to the arguments of a script."""

from __future__ import annotations

from typing import Any

import msgspec
from starlette.requests import Request

from holdfast.core.errors import InvalidInput
from holdfast.core.job import JobId
from holdfast.core.limits import MAX_DEPTH, MAX_PAYLOAD
from holdfast.core.requests import NewJob, check_new_job
from holdfast.store.engine import Engine
from holdfast.store.scripts.enqueue import enqueue
from holdfast.store.scripts.look import find_job
from holdfast.wire.calls import Call

MAX_BODY = 16 * MAX_PAYLOAD
DEEPEST = 2 * MAX_DEPTH
REFERENCES = ("job_id", "other_id")


class TooLarge(InvalidInput):
    """The body is larger than the daemon takes."""

    code = "ERR_TOO_LARGE"


async def read_request(call: Call, request: Request, engine: Engine, max_body: int = MAX_BODY) -> msgspec.Struct:
    """What the caller wants, checked; InvalidInput says what does not fit."""
    if call.method != "GET" and not call.in_path:
        wanted = _decoded(call, await read_body(request, max_body))
    else:
        wanted = await _assembled(call, request, engine, max_body)
    if call.script is enqueue:
        _check_jobs(wanted.jobs)  # type: ignore[attr-defined]
    return wanted


async def read_body(request: Request, most: int) -> bytes:
    """The whole body, unless it is too large."""
    declared = request.headers.get("content-length", "0")
    if declared.isdigit() and int(declared) > most:
        raise TooLarge(f"the body is {declared} bytes; the limit is {most}")
    chunks, size = [], 0
    async for chunk in request.stream():
        size += len(chunk)
        if size > most:
            raise TooLarge(f"the body is larger than the limit of {most} bytes")
        chunks.append(chunk)
    return b"".join(chunks)


def _decoded(call: Call, body: bytes) -> msgspec.Struct:
    try:
        return call.body_decoder.decode(body or b"{}")  # type: ignore[no-any-return]
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise _does_not_fit(call, error) from None


async def _assembled(call: Call, request: Request, engine: Engine, max_body: int) -> msgspec.Struct:
    """From the path, and from the query or the body."""
    values: dict[str, Any] = {}
    if call.method == "GET":
        values = _query(call, request)
    elif body := await read_body(request, max_body):
        try:
            given = msgspec.json.decode(body)
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
            raise _does_not_fit(call, error) from None
        if not isinstance(given, dict):
            raise InvalidInput("the body is not a JSON object; write the arguments by name")
        values = given
    values |= request.path_params
    for name in REFERENCES:
        if name in values:
            values[name] = await job_id_of(values[name], engine)
    try:
        return msgspec.convert(values, call.request, strict=call.method != "GET")
    except (msgspec.ValidationError, RecursionError) as error:
        raise _does_not_fit(call, error) from None


def _query(call: Call, request: Request) -> dict[str, Any]:
    """Every name once; a name that is given twice is more likely a mistake than a wish."""
    values: dict[str, Any] = {}
    for name, value in request.query_params.multi_items():
        if name in values:
            raise InvalidInput(f"{name!r} stands twice in the query of {call.name}")
        values[name] = value
    return values


async def job_id_of(ref: Any, engine: Engine) -> JobId:
    """The id of a job that may be named by its number."""
    if isinstance(ref, int) and not isinstance(ref, bool):
        ref = str(ref)
    if isinstance(ref, str) and ref.isascii() and ref.isdigit():
        return (await engine.read(find_job, ref)).id
    return ref  # type: ignore[no-any-return]


def _check_jobs(jobs: list[NewJob]) -> None:
    for job in jobs:
        check_new_job(job)


def _does_not_fit(call: Call, error: Exception) -> InvalidInput:
    said = f"it is nested deeper than {DEEPEST} levels" if isinstance(error, RecursionError) else str(error)
    return InvalidInput(f"the request does not fit {call.name}: {said}")
