"""What may be at a place of a request, for error messages: the fields of an object, or the words of a choice."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

from msgspec import inspect

_STEP = re.compile(r"\.(\w+)|\[[^\[\]]*\]")


def fields_at(kind: Any, where: str) -> list[str]:
    """The fields of the object at a place such as `.jobs[0]`. Empty if there may be several shapes."""
    shapes = [found for found in _at(kind, where) if isinstance(found, inspect.StructType)]
    return [field.encode_name for field in shapes[0].fields] if len(shapes) == 1 else []


def words_at(kind: Any, where: str) -> list[str]:
    """The words that may be at a place. Empty if it is no choice of words."""
    words: dict[str, None] = {}
    for found in _at(kind, where):
        if isinstance(found, inspect.EnumType):
            words |= dict.fromkeys(str(member.value) for member in found.cls)
        elif isinstance(found, inspect.LiteralType):
            words |= dict.fromkeys(map(str, found.values))
    return list(words)


def are_texts_at(kind: Any, where: str) -> bool:
    """Whether a list of texts may be at a place."""
    texts = inspect.StrType | inspect.EnumType | inspect.LiteralType
    items = [
        item for found in _at(kind, where) for item in _inside(found, "") if not isinstance(found, inspect.DictType)
    ]
    return bool(items) and all(isinstance(item, texts) for item in items)


def _at(kind: Any, where: str) -> list[inspect.Type]:
    """All types that may be there."""
    here = list(_each(_described(kind)))
    for name in _STEP.findall(where):
        here = [inner for found in here for inner in _inside(found, name)]
    return here


@cache
def _described(kind: Any) -> inspect.Type:
    return inspect.type_info(kind)


def _each(found: inspect.Type) -> Iterator[inspect.Type]:
    """A choice of shapes, one by one."""
    match found:
        case inspect.Metadata(type=inner):
            yield from _each(inner)
        case inspect.UnionType(types=types):
            for one in types:
                yield from _each(one)
        case _:
            yield found


def _inside(found: inspect.Type, name: str) -> Iterator[inspect.Type]:
    """The types in a field of an object or, without a name, in a list or a mapping."""
    match found:
        case inspect.StructType(fields=fields) if name:
            for field in fields:
                if field.encode_name == name:
                    yield from _each(field.type)
        case inspect.DictType(value_type=inner) if not name:
            yield from _each(inner)
        case inspect.ListType(item_type=inner) | inspect.VarTupleType(item_type=inner) if not name:
            yield from _each(inner)
