"""One call of the HTTP API, made from the signature of a function: where its arguments are, and what it returns."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any, TypeAlias, get_type_hints

import msgspec

from holdfast.core.access import Role
from holdfast.core.computed_once import computed_once
from holdfast.core.settings import rule_table
from holdfast.core.settings.rule_table import JOB_REF
from holdfast.decoding import new_decoder
from holdfast.observe.sla import Latency
from holdfast.store.engine import Engine
from holdfast.store.script_names import full_name, function_of
from holdfast.wire.shapes import constrained, may_be_left_out
from holdfast.wire.signature import Signature, kind_of
from holdfast.wire.signatures import SIGNATURES

JSON = "application/json"
WORKERS = "workers"
GIVEN_BY_SERVER = ("now", "limits")  # arguments that no caller sends

_IN_PATH = re.compile(r"\{(\w+)(?::path)?\}")


Values: TypeAlias = Mapping[str, Any]


class Guard(StrEnum):
    """What is checked before a call, besides its request."""

    WEBHOOK_TARGET = "webhook_target"
    WATCHED_PLACE = "watched_place"


def always(values: Values) -> bool:
    """To do it twice is the same as once, for all arguments. Most calls are like that, as callers make the ids."""
    return True


def never(values: Values) -> bool:
    """To do it twice is never the same as once."""
    return False


class ApiCall:
    """One route, and all that is special about it.

    `role` is what a caller needs at least; None: nothing, not even a token. `tag` groups it in the reference.
    `reads` marks a call that changes nothing although its arguments are in a body; every GET reads. `in_query` names
    arguments that are in the query beside a body. `prepare` makes a request ready for the script, or refuses it.
    `guard` is checked before. `is_repeatable` says of the arguments whether to do it twice is the same as once.
    `is_long`: it waits, so its duration says nothing. `is_quiet`: workers make it by themselves, so it has no trace.
    `is_logged`: the log names the user of a change. Calls that are very many are not logged: what they made names the
    user. `gives_jobs`: it hands jobs to a worker. `opens_gates`: after it, a job may start that had to wait before,
    however idle the system was. `promise` is the promised latency that its duration counts for. `headers` are those of
    its answer, with their type and meaning.
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
        headers: Mapping[str, tuple[str, str]] | None = None,
        prepare: Callable[[Any], None] | None = None,
        guard: Guard | None = None,
        is_repeatable: Callable[[Values], bool] = always,
        is_long: bool = False,
        is_quiet: bool = False,
        is_logged: bool = True,
        gives_jobs: bool = False,
        opens_gates: bool = False,
        promise: Latency | None = None,
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
        self.headers = headers or {}
        self.prepare = prepare
        self.guard = guard
        self.is_repeatable = is_repeatable
        self.is_long = is_long
        self.is_quiet = is_quiet
        self.is_logged = is_logged
        self.gives_jobs = gives_jobs
        self.opens_gates = opens_gates
        self.promise = promise

    @property
    def name(self) -> str:
        """The name of the operation in the reference: that of the script."""
        return self.script.__name__

    @property
    def function(self) -> Callable[..., Any]:
        """The script itself. Only a server has to import it."""
        return function_of(self.script)

    @property
    def summary(self) -> str:
        """The first line of the script's docstring."""
        return self.description.partition("\n")[0]

    @property
    def description(self) -> str:
        """The script's docstring."""
        return inspect.getdoc(self.function) or ""

    @computed_once
    def is_procedure(self) -> bool:
        """Whether the function takes the engine instead of a transaction."""
        first = next(iter(inspect.signature(self.function).parameters))
        return self._hints.get(first) is Engine

    @property
    def is_for_workers(self) -> bool:
        """Whether only processes that run jobs call it."""
        return self.tag == WORKERS

    @computed_once
    def takes_jobs(self) -> bool:
        """Whether it stores jobs that the caller made."""
        return "jobs" in self._names

    @computed_once
    def takes_trigger(self) -> bool:
        """Whether what the call makes names its caller. The server fills in `trigger`."""
        return "trigger" in self._names

    @computed_once
    def takes_limits(self) -> bool:
        """Whether it is about workspaces, and bound to their limits."""
        return "limits" in self._names

    @computed_once
    def marks_repeats(self) -> bool:
        """Whether a repeat of the call has to say that it is one."""
        return "repeated" in self._known_names

    def only_reads(self, request: msgspec.Struct) -> bool:
        """Whether a request is answered from a snapshot: the call reads, or this is a dry run of it.

        Everything else is one durable transaction.
        """
        return self.reads or getattr(request, "dry_run", False)

    @computed_once
    def parameters(self) -> list[inspect.Parameter]:
        """The arguments of the script, without the transaction."""
        return list(inspect.signature(self.function).parameters.values())[1:]

    @computed_once
    def job_refs(self) -> tuple[str, ...]:
        """The arguments that name a job by id or by number, for scripts that want the id."""
        named = (
            parameter.name for parameter in self.parameters if rule_table.rule_of(self.name, parameter.name) is JOB_REF
        )
        return tuple(name for name in named if self._hints[name] is str)

    @computed_once
    def request(self) -> type[msgspec.Struct]:
        """All that the caller sends: path, query and body."""
        return self._shape("Request", [name for name in self._names if name not in GIVEN_BY_SERVER])

    @computed_once
    def path_part(self) -> type[msgspec.Struct]:
        """What is in the path."""
        return self._shape("Path", list(self.in_path))

    @computed_once
    def query_part(self) -> type[msgspec.Struct]:
        """What is in the query."""
        return self._shape("Query", list(self._in_query) if self.has_body else self._outside_the_path())

    @computed_once
    def body_part(self) -> type[msgspec.Struct]:
        """What is in the body."""
        return self._shape("Body", self._outside_the_path() if self.has_body else [])

    @computed_once
    def is_all_body(self) -> bool:
        """Whether the body is the whole request."""
        return self.has_body and not self.in_path and not self._in_query

    @computed_once
    def body_decoder(self) -> msgspec.json.Decoder[Any]:
        """Reads the body, or the whole request if all of it is in the body."""
        return new_decoder(self.request if self.is_all_body else self.body_part)

    @computed_once
    def decoder(self) -> msgspec.json.Decoder[Any]:
        """Reads the response."""
        known = self._signature
        return new_decoder(self.returns if known is None else kind_of(known.returns))

    @property
    def returns(self) -> Any:
        """The shape of the response."""
        return self._hints["return"]

    @property
    def is_urgent(self) -> bool:
        """Whether it must not wait behind the calls of users."""
        return self._signature is not None and self._signature.is_urgent

    def arguments(self, request: msgspec.Struct, given: Values) -> tuple[list[Any], dict[str, Any]]:
        """The script's arguments: from a request, and what the server gives."""
        positional, named = [], {}
        for name, is_keyword in self._places:
            value = given[name] if name in GIVEN_BY_SERVER else getattr(request, name)
            if is_keyword:
                named[name] = value
            else:
                positional.append(value)
        return positional, named

    def values(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """What a caller of the script gave, by name, without what the server gives."""
        values = dict(zip(self._known_names, args, strict=False)) | kwargs
        return {name: value for name, value in values.items() if name not in GIVEN_BY_SERVER}

    @property
    def _signature(self) -> Signature | None:
        """The stored signature of the script. None for a call that is more than a script."""
        return SIGNATURES.get(full_name(self.script))

    @computed_once
    def _known_names(self) -> list[str]:
        """The names of the arguments, without importing the script."""
        known = self._signature
        return self._names if known is None else known.arguments

    @computed_once
    def _names(self) -> list[str]:
        return [parameter.name for parameter in self.parameters]

    @computed_once
    def _places(self) -> list[tuple[str, bool]]:
        return [(parameter.name, parameter.kind is parameter.KEYWORD_ONLY) for parameter in self.parameters]

    @computed_once
    def _hints(self) -> dict[str, Any]:
        return get_type_hints(self.function)

    def _outside_the_path(self) -> list[str]:
        elsewhere = {*GIVEN_BY_SERVER, *self.in_path, *self._in_query}
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


def name_of(call: ApiCall | None) -> str:
    """The name under which a request is measured. None: there is no such call."""
    return "nowhere" if call is None else call.name
