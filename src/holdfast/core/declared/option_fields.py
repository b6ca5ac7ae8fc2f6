"""Requests, answers and filters with a field for each option that belongs there."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from holdfast.core.declared.option import JobOption, SaidIn
from holdfast.core.declared.options import FILTERS, OPTIONS, options_for

T = TypeVar("T", bound=Struct)
F = TypeVar("F", bound=Callable[..., Any])


def option_fields(
    said: SaidIn, *, without: tuple[str, ...] = (), empty: bool = False, called: str = ""
) -> Callable[[type[T]], type[T]]:
    """A struct with a field for each option that may be given there, named as in HTTP.

    An option that is not given is None. With `empty`, it is the empty value of its kind. `called` is the name of the
    struct in the description of the API, if that differs.
    """

    def extend(kind: type[T]) -> type[T]:
        fields = {}
        for option in options_for(said):
            if option.name in without:
                continue
            default = option.kind.empty if empty else None
            fields[option.wire] = (option.wire, _hint(option, default), default)
        return extended(kind, list(fields.values()), called)

    return extend


def _hint(option: JobOption, default: Any) -> Any:
    return option.kind.wire | None if default is None else option.kind.wire


def answers_options(kind: type[T]) -> type[T]:
    """An answer that has a field for every stored option.

    Fields that the class names itself keep the types that it gives them.
    """
    stored = [option for option in OPTIONS.values() if option.columns and option.is_answered]
    return extended(kind, [(one.wire, _hint(one, one.default), one.default) for one in stored])


def told_fields(kind: type[T]) -> type[T]:
    """What a worker is told of a job, with a field for every option that it is told of."""
    told = [option for option in OPTIONS.values() if option.told_to_worker]
    return extended(kind, [(one.wire, _hint(one, one.default), one.default) for one in told])


def filter_fields(kind: type[T]) -> type[T]:
    """A filter that has a field for every option that lists can be filtered by."""
    return extended(kind, [(option.wire, option.kind.wire | None, None) for option in FILTERS])


WITH_FILTERS: set[Callable[..., Any]] = set()


def with_filters(function: F) -> F:
    """A function whose `**options` are those that lists can be filtered by, with their names in its signature."""
    WITH_FILTERS.add(function)
    signature = inspect.signature(function)
    named = [one for one in signature.parameters.values() if one.kind is not one.VAR_KEYWORD]
    more = [inspect.Parameter(option.wire, inspect.Parameter.KEYWORD_ONLY, default=None) for option in FILTERS]
    function.__signature__ = signature.replace(parameters=[*named, *more])  # type: ignore[attr-defined]
    function.__annotations__ |= {option.wire: option.kind.wire | None for option in FILTERS}
    return function


def extended(kind: type[T], fields: list[Any], called: str = "") -> type[T]:
    """The same struct with these fields too. Fields that it has already stay as they are."""
    more = [field for field in fields if field[0] not in kind.__struct_fields__]
    has_defaults = any(len(field) > 2 for field in more)
    namespace = {"__doc__": kind.__doc__, "__module__": kind.__module__}
    made: Any = msgspec.defstruct(
        called or kind.__name__, more, bases=(kind,), namespace=namespace, frozen=True, kw_only=has_defaults
    )
    return made  # type: ignore[no-any-return]
