"""A task's type hints are its payload's schema: what does not fit is refused before it is stored."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from typing import Any, get_type_hints

import msgspec

from holdfast.core.errors import InvalidInput, InvalidPayload
from holdfast.core.limits import MAX_PAYLOAD, check_payload, shown


class PayloadSchema:
    """The arguments of one task, as JSON and back."""

    def __init__(self, task: str, function: Callable[..., Any], *, skip_first: bool) -> None:
        self._task = task
        parameters = list(inspect.signature(function).parameters.values())[int(skip_first) :]
        for parameter in parameters:
            if parameter.kind in (parameter.VAR_POSITIONAL, parameter.POSITIONAL_ONLY):
                raise InvalidInput(
                    f"task {task!r} cannot take {parameter}: arguments travel by name; use named parameters"
                )
        self._open = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters)
        named = [parameter for parameter in parameters if parameter.kind is not parameter.VAR_KEYWORD]
        self._signature = inspect.Signature([parameter.replace(annotation=parameter.empty) for parameter in parameters])
        self._hints = _hints(task, function)
        self._shape = msgspec.defstruct(
            f"{task} payload",
            [_field(parameter, self._hints) for parameter in named],
            kw_only=True,
            forbid_unknown_fields=not self._open,
        )
        self._decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder(self._shape)
        self._names = [parameter.name for parameter in named]
        self._defaults = {
            parameter.name: parameter.default for parameter in named if parameter.default is not parameter.empty
        }
        returns = self._hints.get("return", Any)
        self._result = msgspec.json.Decoder(Any if returns is inspect.Parameter.empty else returns)

    def encode(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
        """The payload as JSON, and the arguments by name; InvalidPayload if they do not fit."""
        arguments = self._bind(args, kwargs)
        try:
            encoded = msgspec.json.encode(arguments)
        except Exception as error:
            raise self._not_json(arguments, error) from None
        check_payload(encoded, f"the payload of task {self._task!r}", MAX_PAYLOAD)
        if b"null" in encoded:
            self._refuse_nan(arguments)
        try:
            self._decoder.decode(encoded)
        except msgspec.ValidationError as error:
            raise InvalidPayload(f"the payload does not fit task {self._task!r}: {error}") from None
        return encoded.decode(), arguments

    def decode(self, payload: str) -> dict[str, Any]:
        """The arguments to call the function with."""
        try:
            values = self._decoder.decode(payload)
            given: dict[str, Any] = msgspec.json.decode(payload)
        except msgspec.DecodeError as error:
            raise InvalidPayload(f"the payload does not fit task {self._task!r}: {error}") from None
        # Arguments that were not given are left to the function's own defaults, as they are today.
        return {name: getattr(values, name) if name in self._names else value for name, value in given.items()}

    def with_defaults(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments that were given and the defaults of the others."""
        return {**self._defaults, **arguments}

    def encode_result(self, result: Any) -> str:
        """What the task returned, as JSON."""
        try:
            encoded = msgspec.json.encode(result)
        except Exception as error:
            raise InvalidPayload(f"task {self._task!r} returned {shown(result)}, which is not JSON: {error}") from None
        check_payload(encoded, f"the result of task {self._task!r}")
        return encoded.decode()

    def decode_result(self, result: str) -> Any:
        """What the task returned, as its return hint says; plain JSON values where it no longer fits."""
        try:
            return self._result.decode(result)
        except msgspec.ValidationError:
            return msgspec.json.decode(result)

    def _bind(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        try:
            bound = self._signature.bind(*args, **kwargs)
        except TypeError as error:
            raise InvalidPayload(f"the payload does not fit task {self._task!r}: {error}") from None
        arguments = dict(bound.arguments)
        for parameter in self._signature.parameters.values():
            if parameter.kind is parameter.VAR_KEYWORD:
                arguments.update(arguments.pop(parameter.name, {}))
        return arguments

    def _not_json(self, arguments: Mapping[str, Any], error: Exception) -> InvalidPayload:
        for name, value in arguments.items():
            try:
                msgspec.json.encode(value)
            except Exception as its_error:
                said = f"argument {name!r} of task {self._task!r} is not JSON: {shown(value)} ({its_error})"
                return InvalidPayload(f"{said}. Pass plain data: text, numbers, lists, dictionaries, dates, structs")
        return InvalidPayload(f"the payload of task {self._task!r} is not JSON: {error}")

    def _refuse_nan(self, arguments: Mapping[str, Any]) -> None:
        for name, value in arguments.items():
            if _has_nan(value):
                raise InvalidPayload(
                    f"argument {name!r} of task {self._task!r} holds a number that JSON cannot write (nan or infinity)"
                )


def _has_nan(value: Any) -> bool:
    match value:
        case float():
            return not math.isfinite(value)
        case dict():
            return any(_has_nan(item) for item in value.values())
        case list() | tuple() | set() | frozenset():
            return any(_has_nan(item) for item in value)
        case msgspec.Struct():
            return any(_has_nan(item) for item in msgspec.structs.astuple(value))
    return False


def _hints(task: str, function: Callable[..., Any]) -> dict[str, Any]:
    try:
        return get_type_hints(function, include_extras=True)
    except NameError as error:
        raise InvalidInput(f"the type hints of task {task!r} cannot be read: {error}; import what they name") from None


def _field(parameter: inspect.Parameter, hints: Mapping[str, Any]) -> tuple[str, Any] | tuple[str, Any, Any]:
    hint = hints.get(parameter.name, Any)
    if parameter.default is parameter.empty:
        return (parameter.name, hint)
    # Only whether it may be left out matters here; the default itself stays with the function.
    return (parameter.name, hint, msgspec.field(default=None))
