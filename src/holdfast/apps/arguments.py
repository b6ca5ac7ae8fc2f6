"""What a handler is called with: the event, and by name its attributes and the top fields of its data.

Attributes are texts, so they are converted to what the type hints of the handler say.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, get_type_hints

import msgspec

from holdfast.core.errors import InvalidInput
from holdfast.core.rules import limits
from holdfast.core.rules.limits import MAX_NAME
from holdfast.core.values.event import Event
from holdfast.tasks.raising import storable

EVENT = "event"


class DependencyError(Exception):
    """An event has not what its handler asks for, or it does not fit the type hint."""


class EventArguments:
    """How the arguments of a handler are found in an event. InvalidInput: no event could give them."""

    def __init__(self, handler: Callable[..., Any]) -> None:
        self._name = name_of(handler)
        self._hints = hints_of(handler)
        self._parameters = parameters_of(handler)
        for parameter in self._parameters:
            if parameter.kind in (parameter.VAR_POSITIONAL, parameter.POSITIONAL_ONLY):
                raise InvalidInput(
                    f"handler {self._name!r} cannot take {parameter}: an event gives arguments by name; "
                    "use named parameters"
                )

    def of(self, event: Event) -> dict[str, Any]:
        """The arguments to call the handler with. DependencyError: the event does not fit."""
        fields = event.data if isinstance(event.data, dict) else {}
        found: dict[str, Any] = {}
        for parameter in self._parameters:
            name = parameter.name
            if parameter.kind is parameter.VAR_KEYWORD:
                rest = {key: value for key, value in {**fields, **event.attributes}.items() if key not in found}
                found |= {key: self._fitting(name, key, value, key in event.attributes) for key, value in rest.items()}
            elif name == EVENT or self._hints.get(name) is Event:
                found[name] = event
            elif name in event.attributes:
                found[name] = self._fitting(name, name, event.attributes[name], True)
            elif name in fields:
                found[name] = self._fitting(name, name, fields[name], False)
            elif parameter.default is parameter.empty:
                raise DependencyError(
                    f"event {event.name!r} has no attribute or field {name!r}, which handler {self._name!r} asks for"
                )
        return found

    def _fitting(self, parameter: str, name: str, value: Any, is_text: bool) -> Any:
        try:
            return msgspec.convert(value, self._hints.get(parameter, Any), strict=not is_text)
        except msgspec.ValidationError as error:
            raise DependencyError(
                f"{name} {limits.shown(value)} does not fit argument {parameter!r} of handler {self._name!r}: {error}"
            ) from None


def check_given(handler: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
    """Refuse arguments that a handler of a timer cannot be called with."""
    try:
        inspect.Signature(parameters_of(handler)).bind(*args, **kwargs)
    except TypeError as error:
        raise InvalidInput(f"the arguments do not fit {name_of(handler)!r}: {error}") from None


def name_of(handler: Callable[..., Any]) -> str:
    """The name of a handler as it is stored: that of its method or function."""
    inner = unwrapped(handler)
    name = str(getattr(inner, "__name__", type(inner).__name__))
    return "".join(letter if letter.isprintable() else "?" for letter in storable(name))[:MAX_NAME] or "?"


def unwrapped(handler: Callable[..., Any]) -> Callable[..., Any]:
    """The function inside of partials."""
    while isinstance(handler, partial):
        handler = handler.func
    return handler


def hints_of(handler: Callable[..., Any]) -> dict[str, Any]:
    """The type hints of a handler."""
    inner = unwrapped(handler)
    function = inner if inspect.isroutine(inner) else type(inner).__call__
    try:
        return get_type_hints(function, include_extras=True)
    except Exception as error:
        # Hints are expressions of the user. A missing import is a NameError, but they can raise anything.
        raise InvalidInput(
            f"the type hints of handler {name_of(handler)!r} cannot be read: {error}; import what they name"
        ) from None


def parameters_of(handler: Callable[..., Any]) -> list[inspect.Parameter]:
    """The parameters of a handler, without `self`."""
    if not callable(handler):
        raise InvalidInput(f"handler {limits.shown(handler)} cannot be called: give a method or a function")
    if inspect.isgeneratorfunction(handler) or inspect.isasyncgenfunction(handler):
        raise InvalidInput(f"handler {name_of(handler)!r} is a generator, which nobody would read; use no `yield`")
    try:
        return list(inspect.signature(handler).parameters.values())
    except (ValueError, TypeError) as error:
        raise InvalidInput(
            f"handler {name_of(handler)!r} does not tell its parameters ({error}); wrap it in a function"
        ) from None
