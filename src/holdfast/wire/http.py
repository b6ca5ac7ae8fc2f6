"""HTTP/1.1 as far as a client of the daemon needs it, without sending or receiving."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

import httptools
import msgspec

from holdfast.decoding import decode
from holdfast.wire.problem import Problem

PIECE = 65_536
RETRY_AFTER = b"retry-after"

ProtocolError = httptools.HttpParserError


def request_bytes(method: str, path: str, headers: Mapping[str, str], body: bytes | None) -> bytes:
    """A whole request as bytes."""
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    length = "" if body is None else f"Content-Length: {len(body)}\r\n"
    return f"{method} {path} HTTP/1.1\r\n{head}{length}\r\n".encode("latin-1") + (body or b"")


class HttpAnswer:
    """A response while it comes in: `feed` takes what arrives, `take` gives the pieces of its body."""

    def __init__(self) -> None:
        self._parser = httptools.HttpResponseParser(self)
        self._pieces: list[bytes] = []
        self.has_begun = False
        self.is_complete = False
        self.keeps_open = False
        self.retry_after: float | None = None

    def feed(self, data: bytes) -> None:
        """Take what has arrived."""
        self._parser.feed_data(data)

    def take(self) -> bytes:
        """What has come of the body since the last look."""
        pieces, self._pieces = self._pieces, []
        return b"".join(pieces)

    @property
    def status(self) -> int:
        """The status code."""
        return self._parser.get_status_code()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Called by the parser."""
        if len(name) == len(RETRY_AFTER) and name.lower() == RETRY_AFTER and value.isdigit():
            self.retry_after = float(value)

    def on_headers_complete(self) -> None:
        """Called by the parser."""
        self.has_begun = True

    def on_body(self, data: bytes) -> None:
        """Called by the parser."""
        self._pieces.append(data)

    def on_message_complete(self) -> None:
        """Called by the parser. Only now it is known whether the connection can be used again."""
        self.keeps_open = bool(self._parser.should_keep_alive())
        self.is_complete = True


class Lines:
    """Cuts a stream of bytes into lines."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> list[bytes]:
        """The lines that are complete now."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        return lines


def read_problem(status: int, content: bytes) -> Problem:
    """The problem in an answer. A proxy before the daemon may answer with something else."""
    try:
        return decode(content, Problem)
    except msgspec.DecodeError:
        said = content[:200].decode("utf-8", "replace")
        return Problem(title="Error", status=status, detail=f"HTTP {status}: {said}", code="ERR_HTTP")


def quoted(value: Any) -> str:
    """A value as it is written in a path or a query."""
    return quote(value if isinstance(value, str) else msgspec.json.encode(value).decode().strip('"'), safe="")


def bracketed(host: str) -> str:
    """A host as it stands in an address or in a `Host` header: one of version 6 in brackets."""
    bare = host.strip("[]")
    return f"[{bare}]" if ":" in bare else bare
