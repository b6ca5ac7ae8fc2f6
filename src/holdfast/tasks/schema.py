"""The type hints of a task are the schema of its payload. What does not fit is refused before it is stored."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Collection, Mapping
from typing import Any, get_args, get_type_hints

import msgspec

from holdfast.core.errors import InvalidInput, InvalidPayload
from holdfast.core.rules import limits
from holdfast.core.rules.limits import MAX_PAYLOAD
from holdfast.core.values.filling import MARK, PREVIOUS, gaps
from holdfast.core.values.subject import as_json
from holdfast.decoding import new_decoder
from holdfast.observe.redact import redacted
from holdfast.tasks.context import Context


class PayloadSchema:
    """The arguments of one task, as JSON and back."""

    def __init__(self, task: str, function: Callable[..., Any], *, skip_first: bool) -> None:
        self._task = task
        parameters = list(inspect.signature(function).parameters.values())[int(skip_first) :]
        self._hints = _hints(task, function)
        _check_parameters(task, parameters, self._hints)
        named = [parameter for parameter in parameters if parameter.kind is not parameter.VAR_KEYWORD]
        rest = [parameter.name for parameter in parameters if parameter.kind is parameter.VAR_KEYWORD]
        self._signature = inspect.Signature([parameter.replace(annotation=parameter.empty) for parameter in parameters])
        self._shape = msgspec.defstruct(
            f"{task} payload",
            [_field(parameter, self._hints) for parameter in named],
            kw_only=True,
            forbid_unknown_fields=not rest,
        )
        self._decoder = _decoder(task, self._shape)
        # The hint of `**more: int`, for arguments without a name of their own.
        self._rest = self._hints.get(rest[0], Any) if rest else Any
        _decoder(task, dict[str, self._rest])  # type: ignore[name-defined]  # Threads may read it at once.
        self._names = [parameter.name for parameter in named]
        self._defaults = {
            parameter.name: parameter.default for parameter in named if parameter.default is not parameter.empty
        }
        self._named = frozenset(self._names)
        self._required = self._named - self._defaults.keys()
        self._result = _result_decoder(self._hints.get("return", Any))

    @property
    def names(self) -> tuple[str, ...] | None:
        """The names of the arguments. None if the task takes any (`**more`)."""
        return tuple(self._names) if self._signature.parameters.keys() == set(self._names) else None

    def encode(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
        """The payload as JSON, and the arguments by name. InvalidPayload if they do not fit."""
        arguments = self._bind(args, kwargs)
        if any(value is PREVIOUS for value in arguments.values()):
            return self._encode_with_gaps(arguments)
        try:
            encoded = msgspec.json.encode(arguments)
        except Exception as error:
            raise self._not_json(arguments, error) from None
        limits.check_payload(encoded, f"the payload of task {self._task!r}", MAX_PAYLOAD)
        if b"null" in encoded:
            self._refuse_nan(arguments)
        if b"$holdfast" in encoded:
            _refuse_marks(self._task, encoded, ())
        try:
            self._decoder.decode(encoded)
            if self._rest is not Any:
                self._read_rest(msgspec.json.decode(encoded))
        except msgspec.ValidationError as error:
            raise InvalidPayload(f"the payload does not fit task {self._task!r}: {error}") from None
        return encoded.decode(), arguments

    def _encode_with_gaps(self, arguments: dict[str, Any]) -> tuple[str, Mapping[str, Any]]:
        """Check what is known now. The result of the job before is checked when the run starts."""
        later = {name for name, value in arguments.items() if value is PREVIOUS}
        known = {name: value for name, value in arguments.items() if name not in later}
        try:
            encoded = msgspec.json.encode({**known, **dict.fromkeys(later, MARK)})
        except Exception as error:
            raise self._not_json(known, error) from None
        limits.check_payload(encoded, f"the payload of task {self._task!r}", MAX_PAYLOAD)
        self._refuse_nan(known)
        _refuse_marks(self._task, encoded, later)
        unchecked = [(name, Any) for name in later if name in self._names]
        shape = msgspec.defstruct(f"{self._task} payload", unchecked, bases=(self._shape,), kw_only=True)
        try:
            values = msgspec.json.decode(encoded)
            new_decoder(shape).decode(encoded)
            self._read_rest({name: value for name, value in values.items() if name not in later})
        except msgspec.ValidationError as error:
            raise InvalidPayload(f"the payload does not fit task {self._task!r}: {error}") from None
        return encoded.decode(), arguments

    def decode(self, payload: str) -> dict[str, Any]:
        """The arguments to call the function with."""
        try:
            values = self._decoder.decode(payload)
            given: dict[str, Any] = msgspec.json.decode(payload)
            if self._rest is not Any:
                given |= self._read_rest(given)
        except msgspec.DecodeError as error:
            raise InvalidPayload(f"the payload does not fit task {self._task!r}: {error}") from None
        # Arguments that were not given get the defaults that the function has now.
        return {name: getattr(values, name) if name in self._names else value for name, value in given.items()}

    def with_defaults(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments that were given and the defaults of the others."""
        return {**self._defaults, **arguments}

    def describe(self, with_defaults_of: Collection[str] = ()) -> dict[str, Any]:
        """The JSON schema of the payload. It has only the defaults of these arguments, as others may be secrets."""
        schemas, shapes = _described([self._hints.get(name, Any) for name in self._names])
        properties = dict(zip(self._names, schemas, strict=True))
        for name in with_defaults_of:
            if name in self._defaults:
                properties[name] = {**properties[name], "default": as_json(self._defaults[name])}
        return {
            "type": "object",
            "properties": properties,
            "required": [name for name in self._names if name not in self._defaults],
            "additionalProperties": self.names is None,
            **({"$defs": shapes} if shapes else {}),
        }

    def encode_result(self, result: Any) -> str:
        """What the task returned, as JSON."""
        try:
            encoded = msgspec.json.encode(result)
        except Exception as error:
            raise self._bad_result(result, str(error)) from None
        limits.check_payload(encoded, f"the result of task {self._task!r}")
        if b"null" in encoded and _has_nan(result):
            raise self._bad_result(result, "it holds a number that JSON cannot write (nan or infinity)")
        return encoded.decode()

    def decode_result(self, result: str) -> Any:
        """What the task returned, as its return hint says. Plain JSON values if it no longer fits."""
        try:
            return self._result.decode(result)
        except msgspec.ValidationError:
            return msgspec.json.decode(result)

    def _bind(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        if not args and self._required.issubset(kwargs) and self._named.issuperset(kwargs):
            return {name: kwargs[name] for name in self._names if name in kwargs}  # The common case, made fast.
        try:
            bound = self._signature.bind(*args, **kwargs)
        except TypeError as error:
            raise InvalidPayload(f"the payload does not fit task {self._task!r}: {error}") from None
        arguments = dict(bound.arguments)
        for parameter in self._signature.parameters.values():
            if parameter.kind is parameter.VAR_KEYWORD:
                arguments.update(arguments.pop(parameter.name, {}))
        return arguments

    def _read_rest(self, given: Mapping[str, Any]) -> dict[str, Any]:
        rest = {name: value for name, value in given.items() if name not in self._names}
        values: dict[str, Any] = msgspec.convert(rest, dict[str, self._rest])  # type: ignore[name-defined]
        return values

    def _not_json(self, arguments: Mapping[str, Any], error: Exception) -> InvalidPayload:
        for name, value in arguments.items():
            try:
                msgspec.json.encode({name: value})
            except Exception as its_error:
                said = (
                    f"argument {name!r} of task {self._task!r} is not JSON: {limits.shown(redacted(value))} "
                    f"({its_error})"
                )
                return InvalidPayload(f"{said}. Pass plain data: text, numbers, lists, dictionaries, dates, structs")
        return InvalidPayload(f"the payload of task {self._task!r} is not JSON: {error}")

    def _refuse_nan(self, arguments: Mapping[str, Any]) -> None:
        for name, value in arguments.items():
            if _has_nan(value):
                raise InvalidPayload(
                    f"argument {name!r} of task {self._task!r} holds a number that JSON cannot write (nan or infinity)"
                )

    def _bad_result(self, result: Any, why: str) -> InvalidPayload:
        if inspect.isawaitable(result):
            if inspect.iscoroutine(result):
                result.close()
            why = "a function that awaits nothing cannot return something to await; make the task an `async def`"
        return InvalidPayload(f"task {self._task!r} returned {limits.shown(result)}, which is not JSON: {why}")


def _refuse_marks(task: str, encoded: bytes, meant: Collection[str]) -> None:
    """Refuse foreign data that would be taken for PREVIOUS."""
    for name in gaps(encoded.decode()):
        if name not in meant:
            raise InvalidPayload(
                f"argument {name!r} of task {task!r} is {limits.shown(MARK)}, which stands for the result of "
                "the job before; use PREVIOUS if that is meant, and put it into another object if not"
            )


def encode_payload(task: str, arguments: Mapping[str, Any]) -> str:
    """The payload of a task whose hints are not known here: any JSON object."""
    known = {name: MARK if value is PREVIOUS else value for name, value in arguments.items()}
    try:
        encoded = msgspec.json.encode(known)
    except Exception as error:
        raise InvalidPayload(f"the payload of task {task!r} is not JSON: {error}") from None
    limits.check_payload(encoded, f"the payload of task {task!r}")
    if b"$holdfast" in encoded:
        _refuse_marks(task, encoded, [name for name, value in arguments.items() if value is PREVIOUS])
    if b"null" in encoded and _has_nan(known):
        raise InvalidPayload(f"the payload of task {task!r} holds a number that JSON cannot write (nan or infinity)")
    return encoded.decode()


def _has_nan(value: Any) -> bool:
    return _plain_has_nan(msgspec.to_builtins(value))


def _plain_has_nan(value: Any) -> bool:
    match value:
        case float():
            return not math.isfinite(value)
        case dict():
            return any(_plain_has_nan(item) for item in (*value, *value.values()))
        case list() | tuple():
            return any(map(_plain_has_nan, value))
    return False


def _hints(task: str, function: Callable[..., Any]) -> dict[str, Any]:
    try:
        return get_type_hints(function, include_extras=True)
    except Exception as error:
        # Hints are expressions of the user. A missing import is a NameError, but they can raise anything.
        raise InvalidInput(f"the type hints of task {task!r} cannot be read: {error}; import what they name") from None


def _check_parameters(task: str, parameters: list[inspect.Parameter], hints: Mapping[str, Any]) -> None:
    for parameter in parameters:
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.POSITIONAL_ONLY):
            raise InvalidInput(f"task {task!r} cannot take {parameter}: arguments travel by name; use named parameters")
        if is_context(parameter.name, hints):
            raise InvalidInput(f"task {task!r} has its context as {parameter.name!r}: make it the first parameter")


def is_context(name: str, hints: Mapping[str, Any]) -> bool:
    """Whether a parameter is the context of the run: it is called `ctx`, or hinted as one."""
    hint = hints.get(name)
    return name == "ctx" or hint is Context or Context in get_args(hint)


def _field(parameter: inspect.Parameter, hints: Mapping[str, Any]) -> tuple[str, Any] | tuple[str, Any, Any]:
    hint = hints.get(parameter.name, Any)
    if parameter.default is parameter.empty:
        return (parameter.name, hint)
    # Only whether it may be left out matters here. The default itself stays with the function.
    return (parameter.name, hint, msgspec.field(default=None))


def _described(hints: list[Any]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The JSON schemas of these types, and the shapes they share. A type that has none may be any value."""
    try:
        schemas, shapes = msgspec.json.schema_components(hints, ref_template="#/$defs/{name}")
        return list(schemas), shapes
    except (TypeError, ValueError, RecursionError):
        if len(hints) == 1:
            return [{}], {}
    each = [_described([hint]) for hint in hints]
    return [schema for [schema], _ in each], {name: shape for _, shapes in each for name, shape in shapes.items()}


def _decoder(task: str, shape: type[Any]) -> msgspec.json.Decoder[Any]:
    try:
        return new_decoder(shape)
    except TypeError as error:
        raise InvalidInput(f"the type hints of task {task!r} cannot be told apart in JSON: {error}") from None


def _result_decoder(hint: Any) -> msgspec.json.Decoder[Any]:
    try:
        return new_decoder(hint)
    except TypeError:
        # Nothing is checked against a return hint, so one that JSON does not have is harmless.
        return msgspec.json.Decoder(Any)
