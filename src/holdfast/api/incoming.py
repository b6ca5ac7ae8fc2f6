"""A request: its head at once, its body when it is read."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, TypeAlias
from urllib.parse import parse_qsl

from holdfast.api.callers import Caller, caller_of
from holdfast.api.refusals import Gone, TooLarge, TooMuchAtOnce
from holdfast.core.errors import InvalidInput

Scope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
AsgiApp: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]

MOST_QUERY = 100
IS_OVER = "holdfast.is_over"  # in the scope of a request: there is no room for the rest of its body


class Incoming:
    """One request. `params` are the variables in its path."""

    __slots__ = ("params", "receive", "scope")

    def __init__(self, scope: Scope, receive: Receive, params: dict[str, str]) -> None:
        self.scope = scope
        self.receive = receive
        self.params = params

    @property
    def method(self) -> str:
        """GET, POST and so on."""
        return self.scope["method"]  # type: ignore[no-any-return]

    @property
    def path(self) -> str:
        """The path, for people."""
        return self.scope["path"]  # type: ignore[no-any-return]

    @property
    def caller(self) -> Caller:
        """Its caller."""
        return caller_of(self.scope)

    def header(self, wanted: bytes) -> str | None:
        """A header by its name in lower case. The first one, if there are several."""
        for name, value in self.scope["headers"]:
            if name == wanted:
                return value.decode("latin-1")  # type: ignore[no-any-return]
        return None

    def query(self) -> list[tuple[str, str]]:
        """The part after the question mark."""
        text = self.scope["query_string"]
        if not text:
            return []
        try:
            return parse_qsl(text.decode("latin-1"), keep_blank_values=True, max_num_fields=MOST_QUERY)
        except ValueError as error:
            raise InvalidInput(f"the query cannot be read: {error}") from None

    async def body(self, most: int) -> bytes:
        """The whole body, unless it is too large."""
        declared = self.header(b"content-length")
        if declared is not None and declared.isdigit() and int(declared) > most:
            raise TooLarge(f"the body is {declared} bytes; the limit is {most}")
        message = await self._next()
        if not message.get("more_body"):
            data: bytes = message["body"]
            return self._checked(data, most)
        chunks = [message["body"]]
        size = len(chunks[0])
        while message.get("more_body"):
            if size > most:
                break
            message = await self._next()
            chunks.append(message["body"])
            size += len(chunks[-1])
        return self._checked(b"".join(chunks), most)

    async def until_gone(self, tell: Callable[[], None]) -> None:
        """Call `tell` once the caller has gone away. The body must have been read, or there must be none."""
        while (await self.receive())["type"] != "http.disconnect":
            pass
        tell()

    async def _next(self) -> Message:
        message = await self.receive()
        if message["type"] == "http.disconnect":
            raise Gone
        if IS_OVER in self.scope:
            raise TooMuchAtOnce
        return message

    def _checked(self, data: bytes, most: int) -> bytes:
        if len(data) > most:
            raise TooLarge(f"the body is larger than the limit of {most} bytes")
        return data
