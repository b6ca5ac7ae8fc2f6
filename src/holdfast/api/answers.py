"""Answers: JSON by msgspec, errors as problem details (RFC 9457), and streams."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from math import ceil
from typing import Any, TypeAlias

import msgspec

from holdfast.api.callers import Caller
from holdfast.api.incoming import Send
from holdfast.api.refusals import TooLarge, TooManyLongCalls, TooManyTries, TooMuchAtOnce
from holdfast.api.sending import send_whole
from holdfast.core import errors
from holdfast.core.jobs.requests import Claimed
from holdfast.core.messages.runs import Exchange
from holdfast.observe import trace
from holdfast.observe.redact import redacted_shape
from holdfast.wire.call import JSON
from holdfast.wire.problem import Problem

PROBLEM = "application/problem+json"
LARGE_BYTES = 1 << 18
Headers: TypeAlias = tuple[tuple[bytes, bytes], ...]

LONGEST_DETAIL = 1_900
STATUS: dict[type[errors.HoldfastError], int] = {
    TooLarge: 413,
    TooManyLongCalls: 429,
    TooManyTries: 429,
    TooMuchAtOnce: 503,
    errors.QueueFull: 429,
    errors.TooManyRunning: 429,
    errors.InvalidInput: 400,
    errors.InvalidToken: 401,
    errors.NotAllowed: 403,
    errors.NotHolder: 403,
    errors.NotFound: 404,
    errors.Conflict: 409,
    errors.Busy: 409,
    errors.StoreFull: 507,
    errors.StoreBusy: 503,
    errors.StoreUnavailable: 503,
    errors.OutcomeUnknown: 503,
    errors.StoreError: 500,
}


class Answer:
    """A whole answer."""

    __slots__ = ("body", "headers", "media", "status")

    def __init__(self, body: bytes, status: int = 200, media: str = JSON, headers: Headers = ()) -> None:
        self.body = body
        self.status = status
        self.media = media
        self.headers = headers

    async def send(self, send: Send, *more: tuple[bytes, bytes]) -> None:
        """Give it to the server, with more headers."""
        length = str(len(self.body)).encode()
        headers = [
            (b"content-type", self.media.encode()),
            (b"content-length", length),
            *self.headers,
            *more,
        ]
        await send_whole(send, self.status, headers, self.body)


class Stream:
    """An answer in pieces. `leave` is called when it has ended, in whatever way."""

    __slots__ = ("headers", "leave", "media", "pieces", "status")

    def __init__(
        self, pieces: AsyncIterator[bytes], media: str, headers: Headers = (), leave: Callable[[], None] = lambda: None
    ) -> None:
        self.pieces = pieces
        self.media = media
        self.headers = headers
        self.leave = leave
        self.status = 200

    async def send(self, send: Send, *more: tuple[bytes, bytes]) -> None:
        """Give it to the server piece by piece, no faster than the caller reads."""
        try:
            await self._begin(send, more)
            async for piece in self.pieces:
                await send({"type": "http.response.body", "body": piece, "more_body": True})
            await send({"type": "http.response.body", "body": b""})
        finally:
            await self.close()

    async def send_head(self, send: Send, *more: tuple[bytes, bytes]) -> None:
        """Give the server the head alone."""
        try:
            await self._begin(send, more)
            await send({"type": "http.response.body", "body": b""})
        finally:
            await self.close()

    async def _begin(self, send: Send, more: Headers) -> None:
        headers = [(b"content-type", self.media.encode()), *self.headers, *more]
        await send({"type": "http.response.start", "status": self.status, "headers": headers})

    async def close(self) -> None:
        """Release what it holds."""
        aclose = getattr(self.pieces, "aclose", None)
        if aclose is not None:
            await aclose()
        self.leave()


def answer(value: Any, status: int = 200) -> Answer:
    """A value as JSON."""
    return Answer(msgspec.json.encode(value), status)


def answer_to(caller: Caller, value: Any, status: int = 200) -> Answer:
    """The same for this caller. One that may only read gets it without what looks secret."""
    return answer(value if caller.sees_secrets else redacted_shape(value), status)


async def answer_exchange(said: Exchange) -> Answer:
    """An exchange as JSON. Many long payloads are encoded in a thread, so that other calls are not delayed."""
    if sum(map(_size, said.claimed)) <= LARGE_BYTES:
        return answer(said)
    return await asyncio.to_thread(_encoded_by_parts, said)


def _size(claimed: Claimed) -> int:
    return len(claimed.payload) + sum(len(name) + len(value) for name, value in (claimed.env or {}).items())


def _encoded_by_parts(said: Exchange) -> Answer:
    parts = {name: getattr(said, name) for name in said.__struct_fields__}
    return answer(parts | {"claimed": [msgspec.Raw(msgspec.json.encode(claimed)) for claimed in said.claimed]})


def problem(status: int, code: str, detail: str, headers: Headers = ()) -> Answer:
    """An error as a problem document. Long texts in it are cut."""
    detail = detail if len(detail) <= LONGEST_DETAIL else f"{detail[:LONGEST_DETAIL]}…"
    said = Problem(TITLES.get(status, "Error"), status, detail, code, trace_id=trace.current_id())
    return Answer(msgspec.json.encode(said), status, PROBLEM, headers)


def status_of(error: type[errors.HoldfastError]) -> int:
    """The status that fits an error best."""
    return next((status for kind, status in STATUS.items() if issubclass(error, kind)), 500)


def problem_of(error: errors.HoldfastError) -> Answer:
    """The problem document of one of our errors."""
    status = status_of(type(error))
    wait = error.retry_after
    if wait is None and error.is_worth_repeating and not isinstance(error, errors.QueueFull):
        wait = RETRY_AFTER_S.get(status)
    headers = () if wait is None else retry_after(wait)
    return problem(status, error.code, str(error), (*headers, *CHALLENGES.get(status, ())))


def retry_after(seconds: float) -> Headers:
    """When to ask again, as HTTP says it: in whole seconds."""
    return ((b"retry-after", str(ceil(seconds)).encode()),)


CHALLENGES: dict[int, Headers] = {401: ((b"www-authenticate", b"Bearer"),)}
# For errors without a `retry_after` of their own.
RETRY_AFTER_S = {429: 1, 503: 1, 507: 10}
RETRY_SOON = retry_after(RETRY_AFTER_S[503])

TITLES = {
    400: "Bad request",
    401: "Unauthorized",
    403: "Forbidden",
    404: "Not found",
    405: "Method not allowed",
    408: "Too slow",
    409: "Conflict",
    413: "Too large",
    421: "Misdirected request",
    429: "Too many requests",
    431: "Head too large",
    500: "Internal error",
    503: "Unavailable",
    507: "Out of room",
}
