"""Every call of the HTTP API, each the shape of one transaction script.

The script's own signature is the definition: its arguments are the path, query and body of the request, what it returns
is the response. `now` is the server's; nobody else's clock matters.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from functools import cached_property
from typing import Any, get_type_hints

import msgspec

from holdfast.store.engine import Engine
from holdfast.store.scripts import (
    bulk,
    cancel,
    doctor,
    enqueue,
    exchange,
    groups,
    look,
    progress,
    queues,
    reorder,
    reserve,
    retry,
    sessions,
    why,
)

PROTOCOL = 1

_IN_PATH = re.compile(r"\{(\w+)\}")


class Hello(msgspec.Struct, frozen=True):
    """How the daemon introduces itself: its version, the protocol it speaks, and its folders on its own machine."""

    version: str
    protocol: int
    node: str
    pid: int
    locks: str
    files: str


class Call:
    """One route. `tag` groups it in the reference."""

    def __init__(self, tag: str, method: str, path: str, script: Callable[..., Any], *, status: int = 200) -> None:
        self.tag = tag
        self.method = method
        self.path = path
        self.script = script
        self.status = status
        self.in_path = tuple(_IN_PATH.findall(path))

    @property
    def name(self) -> str:
        """The operation's name in the reference: that of the script."""
        return self.script.__name__

    @property
    def summary(self) -> str:
        """The first line of the script's docstring."""
        return (inspect.getdoc(self.script) or "").partition("\n")[0]

    @cached_property
    def is_procedure(self) -> bool:
        """Whether the function takes the engine instead of a transaction."""
        first = next(iter(inspect.signature(self.script).parameters))
        return self._hints[first] is Engine

    @cached_property
    def marks_repeats(self) -> bool:
        """Whether a repeat of the call has to say that it is one."""
        return any(parameter.name == "repeated" for parameter in self.parameters)

    @property
    def writes(self) -> bool:
        """GET reads on a snapshot; everything else is one durable transaction."""
        return self.method != "GET"

    @cached_property
    def parameters(self) -> list[inspect.Parameter]:
        """The script's arguments, without the transaction."""
        return list(inspect.signature(self.script).parameters.values())[1:]

    @cached_property
    def _hints(self) -> dict[str, Any]:
        return get_type_hints(self.script)

    @cached_property
    def request(self) -> type[msgspec.Struct]:
        """What the caller sends, wherever it stands in the request."""
        return msgspec.defstruct(
            "".join(word.title() for word in self.name.split("_")) + "Request",
            [self._field(parameter) for parameter in self.parameters if parameter.name != "now"],
            kw_only=True,
            forbid_unknown_fields=True,
        )

    @cached_property
    def body_decoder(self) -> msgspec.json.Decoder[Any]:
        """Reads a request whose arguments all stand in the body."""
        return msgspec.json.Decoder(self.request)

    @cached_property
    def decoder(self) -> msgspec.json.Decoder[Any]:
        """Reads the response."""
        return msgspec.json.Decoder(self.returns)

    @property
    def returns(self) -> Any:
        """The shape of the response."""
        return self._hints["return"]

    def arguments(self, request: msgspec.Struct, now: int) -> tuple[list[Any], dict[str, Any]]:
        """The script's arguments from a request."""
        positional, named = [], {}
        for parameter in self.parameters:
            value = now if parameter.name == "now" else getattr(request, parameter.name)
            if parameter.kind is parameter.KEYWORD_ONLY:
                named[parameter.name] = value
            else:
                positional.append(value)
        return positional, named

    def values(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """What a caller of the script gave, by name, without `now`."""
        values = dict(zip(self._names, args, strict=False)) | kwargs
        values.pop("now", None)
        return values

    @cached_property
    def _names(self) -> list[str]:
        return [parameter.name for parameter in self.parameters]

    def _field(self, parameter: inspect.Parameter) -> tuple[str, Any] | tuple[str, Any, Any]:
        hint = self._hints[parameter.name]
        if parameter.default is parameter.empty:
            return (parameter.name, hint)
        return (parameter.name, hint, parameter.default)


CALLS: tuple[Call, ...] = (
    Call("jobs", "POST", "/v1/jobs", enqueue.enqueue, status=201),
    Call("jobs", "POST", "/v1/jobs/search", look.list_jobs),
    Call("jobs", "POST", "/v1/jobs/bulk", bulk.bulk),
    Call("jobs", "GET", "/v1/jobs/{ref}", look.find_job),
    Call("jobs", "GET", "/v1/jobs/{job_id}/last", look.find_last),
    Call("jobs", "GET", "/v1/jobs/{job_id}/runs", look.runs_of),
    Call("jobs", "GET", "/v1/jobs/{job_id}/why", why.why),
    Call("jobs", "POST", "/v1/jobs/{job_id}/cancel", cancel.cancel_job),
    Call("jobs", "POST", "/v1/jobs/{job_id}/retry", retry.retry_job, status=201),
    Call("jobs", "POST", "/v1/jobs/{job_id}/move-to-top", reorder.move_to_top),
    Call("jobs", "POST", "/v1/jobs/{job_id}/move-to-bottom", reorder.move_to_bottom),
    Call("jobs", "POST", "/v1/jobs/{job_id}/move-before", reorder.move_before),
    Call("jobs", "POST", "/v1/jobs/{job_id}/move-after", reorder.move_after),
    Call("jobs", "PUT", "/v1/jobs/{job_id}/priority", reorder.set_priority),
    Call("jobs", "PUT", "/v1/jobs/{job_id}/payload", reorder.edit_payload),
    Call("jobs", "POST", "/v1/tags/{tag}/cancel", cancel.cancel_tag),
    Call("system", "GET", "/v1/doctor", doctor.examine),
    Call("groups", "POST", "/v1/groups", groups.create_group, status=201),
    Call("groups", "GET", "/v1/groups/{group_id}", groups.view_group),
    Call("groups", "POST", "/v1/groups/{group_id}/cancel", cancel.cancel_group),
    Call("queues", "GET", "/v1/queues", queues.list_queues),
    Call("queues", "GET", "/v1/counts", look.counts),
    Call("queues", "POST", "/v1/queues/{name}/pause", queues.pause),
    Call("queues", "POST", "/v1/queues/{name}/resume", queues.resume),
    Call("queues", "PUT", "/v1/queues/{name}/limit", queues.set_limit),
    Call("reservations", "POST", "/v1/reservations", reserve.reserve, status=201),
    Call("reservations", "POST", "/v1/reservations/{reservation_id}/grant", reserve.grant),
    Call("reservations", "POST", "/v1/reservations/{reservation_id}/release", reserve.release),
    Call("sessions", "GET", "/v1/sessions", sessions.running_sessions),
    Call("workers", "POST", "/v1/sessions", sessions.open_session, status=201),
    Call("workers", "POST", "/v1/sessions/{session_id}/beat", sessions.beat),
    Call("workers", "POST", "/v1/sessions/{session_id}/stopping", sessions.note_stop_request),
    Call("workers", "POST", "/v1/sessions/{session_id}/close", sessions.close_session),
    Call("workers", "POST", "/v1/exchange", exchange.exchange),
    Call("workers", "PUT", "/v1/runs/{run_id}/checkpoint", progress.save_checkpoint),
)

BY_SCRIPT: dict[Callable[..., Any], Call] = {call.script: call for call in CALLS}
