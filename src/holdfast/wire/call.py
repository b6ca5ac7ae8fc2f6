"""One call of the HTTP API, made from the signature of a function: where its arguments stand, and what comes back."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from functools import cached_property
from typing import Any, get_type_hints

import msgspec

from holdfast.core.access import Role
from holdfast.store.engine import Engine
from holdfast.wire.rules import JOB_REF, rule_of
from holdfast.wire.shapes import constrained, may_be_left_out

JSON = "application/json"

_IN_PATH = re.compile(r"\{(\w+)(?::path)?\}")


class Call:
    """One route. `tag` groups it in the reference; `in_query` names arguments that stand there beside a body.

    `role` is what a caller needs at least; None: nothing, not even a token.
    `reads` marks a call that changes nothing although its arguments stand in a body; every GET reads.
    """

    def __init__(
        self,
        role: Role | None,
        tag: str,
        method: str,
        path: str,
        script: Callable[..., Any],
        *,
        status: int = 200,
        reads: bool = False,
        in_query: tuple[str, ...] = (),
        media: str = JSON,
    ) -> None:
        self.role = role
        self.tag = tag
        self.method = method
        self.path = path
        self.script = script
        self.status = status
        self.media = media
        self.has_body = method != "GET"
        self.reads = reads or not self.has_body
        self.in_path = tuple(_IN_PATH.findall(path))
        self._in_query = in_query

    @property
    def name(self) -> str:
        """The operation's name in the reference: that of the script."""
        return self.script.__name__

    @property
    def summary(self) -> str:
        """The first line of the script's docstring."""
        return self.description.partition("\n")[0]

    @property
    def description(self) -> str:
        """The script's docstring."""
        return inspect.getdoc(self.script) or ""

    @cached_property
    def is_procedure(self) -> bool:
        """Whether the function takes the engine instead of a transaction."""
        first = next(iter(inspect.signature(self.script).parameters))
        return self._hints[first] is Engine

    @cached_property
    def takes_trigger(self) -> bool:
        """Whether what the call makes names its caller: the server fills in `trigger`."""
        return "trigger" in self._names

    @cached_property
    def marks_repeats(self) -> bool:
        """Whether a repeat of the call has to say that it is one."""
        return "repeated" in self._names

    def only_reads(self, request: msgspec.Struct) -> bool:
        """Whether a request is answered from a snapshot: the call reads, or this is a dry run of it.

        Everything else is one durable transaction.
        """
        return self.reads or getattr(request, "dry_run", False)

    @cached_property
    def parameters(self) -> list[inspect.Parameter]:
        """The script's arguments, without the transaction."""
        return list(inspect.signature(self.script).parameters.values())[1:]

    @cached_property
    def job_refs(self) -> tuple[str, ...]:
        """The arguments that name a job, by id or by number, where the script wants the id."""
        named = (parameter.name for parameter in self.parameters if rule_of(self.name, parameter.name) is JOB_REF)
        return tuple(name for name in named if self._hints[name] is str)

    @cached_property
    def request(self) -> type[msgspec.Struct]:
        """What the caller sends, wherever it stands in the request."""
        return self._shape("Request", [name for name in self._names if name != "now"])

    @cached_property
    def path_part(self) -> type[msgspec.Struct]:
        """What stands in the path."""
        return self._shape("Path", list(self.in_path))

    @cached_property
    def query_part(self) -> type[msgspec.Struct]:
        """What stands in the query."""
        return self._shape("Query", list(self._in_query) if self.has_body else self._outside_the_path())

    @cached_property
    def body_part(self) -> type[msgspec.Struct]:
        """What stands in the body."""
        return self._shape("Body", self._outside_the_path() if self.has_body else [])

    @cached_property
    def is_all_body(self) -> bool:
        """Whether the body is the whole request."""
        return self.has_body and not self.in_path and not self._in_query

    @cached_property
    def body_decoder(self) -> msgspec.json.Decoder[Any]:
        """Reads the body; the whole request, where all of it is there."""
        return msgspec.json.Decoder(self.request if self.is_all_body else self.body_part)

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
        for name, is_keyword in self._places:
            value = now if name == "now" else getattr(request, name)
            if is_keyword:
                named[name] = value
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

    @cached_property
    def _places(self) -> list[tuple[str, bool]]:
        return [(parameter.name, parameter.kind is parameter.KEYWORD_ONLY) for parameter in self.parameters]

    @cached_property
    def _hints(self) -> dict[str, Any]:
        return get_type_hints(self.script)

    def _outside_the_path(self) -> list[str]:
        elsewhere = {"now", *self.in_path, *self._in_query}
        return [name for name in self._names if name not in elsewhere]

    def _shape(self, kind: str, names: list[str]) -> type[msgspec.Struct]:
        title = "".join(word.title() for word in self.name.split("_"))
        fields = [self._field(parameter) for parameter in self.parameters if parameter.name in names]
        return msgspec.defstruct(title + kind, fields, kw_only=True, forbid_unknown_fields=True)

    def _field(self, parameter: inspect.Parameter) -> tuple[str, Any] | tuple[str, Any, Any]:
        hint = constrained(self._hints[parameter.name], self.name, parameter.name)
        if parameter.default is parameter.empty:
            optional = may_be_left_out(self._hints[parameter.name])
            return (parameter.name, hint, None) if optional else (parameter.name, hint)
        return (parameter.name, hint, parameter.default)
