"""The types of core as requests may have them: every field with its rule.

msgspec checks them while it reads a request, and the description of the API shows them.
"""

from __future__ import annotations

import types
from enum import Enum
from functools import cache
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Meta, Struct

from holdfast.core.rules.rule import MOST_ITEMS, Rule
from holdfast.core.rules.value_rules import TEXT, WHOLE
from holdfast.core.settings import rule_table


def may_be_left_out(hint: Any) -> bool:
    """Whether a field without a default may be left out all the same, because it may be None."""
    return _is_union(hint) and type(None) in get_args(hint)


def constrained(hint: Any, owner: str, field: str) -> Any:
    """The type of a field together with the rule for it."""
    return _constrained(hint, rule_table.rule_of(owner, field))


def _constrained(hint: Any, rule: Rule | None) -> Any:
    origin, args = get_origin(hint), get_args(hint)
    if hint is str:
        return _with(hint, rule, TEXT)
    if hint is int:
        return _with(hint, rule, WHOLE)
    if hint is float:
        return _with(hint, rule, None)
    if isinstance(hint, type) and issubclass(hint, Struct):
        return checked(hint)
    if origin in (Union, types.UnionType):
        inner = [_constrained(arg, rule) for arg in args]
        return Union[tuple(dict.fromkeys(_flat(inner)))]  # noqa: UP007  # built, not written
    if origin is dict and rule is not None and rule.keys is not None:
        named: Any = Annotated[args[0], rule.keys.meta]
        return Annotated[origin[named, _constrained(args[1], rule)], Meta(max_length=rule.most)]
    if origin is not None and args and not (isinstance(hint, type) and issubclass(hint, Enum)):
        items = tuple(arg if arg is Ellipsis else _constrained(arg, rule) for arg in args)
        least, most = (None, MOST_ITEMS) if rule is None else (rule.least or None, rule.most)
        return Annotated[origin[items if len(items) > 1 else items[0]], Meta(min_length=least, max_length=most)]
    return hint


def _flat(kinds: list[Any]) -> list[Any]:
    """A union within a union is one union."""
    return [inner for kind in kinds for inner in (get_args(kind) if _is_union(kind) else [kind])]


def _is_union(kind: Any) -> bool:
    return get_origin(kind) in (Union, types.UnionType)


def _with(hint: Any, rule: Rule | None, otherwise: Rule | None) -> Any:
    rule = rule or otherwise
    if rule is None:
        return hint
    return Annotated[hint, rule.meta] if rule.kind is None else rule.kind


@cache
def checked(kind: type[Struct]) -> type[Struct]:
    """The same type as a request may have it: every field has its rule, and there are no other fields."""
    hints = get_type_hints(kind)
    config = kind.__struct_config__
    fields: list[Any] = []
    for field in msgspec.structs.fields(kind):
        hint = constrained(hints[field.name], kind.__name__, field.name)
        if field.required:
            fields.append((field.name, hint, None) if may_be_left_out(hints[field.name]) else (field.name, hint))
        elif field.default_factory is not msgspec.NODEFAULT:
            fields.append((field.name, hint, msgspec.field(default_factory=field.default_factory)))
        else:
            fields.append((field.name, hint, field.default))
    return msgspec.defstruct(
        kind.__name__,
        fields,
        bases=(kind,),
        namespace={"__doc__": kind.__doc__, "__module__": __name__},
        kw_only=True,
        frozen=bool(config.frozen),
        tag=config.tag,
        tag_field=config.tag_field,
        forbid_unknown_fields=True,
    )
