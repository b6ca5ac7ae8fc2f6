"""A whole answer in one piece: head and body in one write, so that the caller is woken once."""

from __future__ import annotations

from collections.abc import Iterable

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, RequestResponseCycle

from holdfast.api.incoming import Send


async def send_whole(send: Send, status: int, headers: Iterable[tuple[bytes, bytes]], body: bytes) -> None:
    """Give an answer to the server. Write it directly, if the server is uvicorn with nothing in between."""
    cycle = getattr(send, "__self__", None)
    if isinstance(cycle, RequestResponseCycle) and _is_free(cycle):
        _write(cycle, status, headers, body)
        return
    await send({"type": "http.response.start", "status": status, "headers": list(headers)})
    await send({"type": "http.response.body", "body": body})


def _is_free(cycle: RequestResponseCycle) -> bool:
    """Whether it can be written directly. In all other cases the server does it."""
    return not (
        cycle.response_started or cycle.disconnected or cycle.flow.write_paused or cycle.scope["method"] == "HEAD"
    )


def _write(cycle: RequestResponseCycle, status: int, headers: Iterable[tuple[bytes, bytes]], body: bytes) -> None:
    parts = [STATUS_LINE[status]]
    for name, value in headers:
        parts += (name, b": ", value, b"\r\n")
    parts += (b"\r\n", body) if cycle.keep_alive else (b"connection: close\r\n\r\n", body)
    cycle.transport.write(b"".join(parts))
    cycle.waiting_for_100_continue = False
    cycle.response_started = cycle.response_complete = True
    cycle.message_event.set()
    if not cycle.keep_alive:
        cycle.transport.close()
    cycle.on_response()
