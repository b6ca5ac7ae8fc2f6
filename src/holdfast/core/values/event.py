"""Events: their names, and how an event finds what waits for it without a search.

What waits has a pattern (a name, or the beginning of one and `*`) and may ask for attributes. Both together are one
text, the *key*. So an event finds what waits for it by a few keys.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from holdfast.core.errors import Reserved
from holdfast.core.job import Millis
from holdfast.core.rules import limits
from holdfast.core.rules.value_rules import ATTRIBUTES

# Only the system emits events that begin with these.
RESERVED_EVENTS = ("job.", "group.", "schedule.", "machine.", "pressure.", "alert.", "webhook.", "workspace.")
(
    ABOUT_JOB,
    ABOUT_GROUP,
    ABOUT_SCHEDULE,
    ABOUT_MACHINE,
    ABOUT_PRESSURE,
    ALERT,
    ABOUT_WEBHOOK,
    ABOUT_WORKSPACE,
) = RESERVED_EVENTS
ABOUT_RUN = f"{ABOUT_JOB}run."

ANY = "*"
EVENT = "event"  # the condition "an event came"; each attribute is a condition of its own
# Keys are in an index, where their length is limited.
LONGEST_KEY_BYTES = 1_000
LONGEST_SHOWN = 400


class Event(Struct, frozen=True, kw_only=True):
    """Something that happened, with what is known about it. Events have rising numbers, in the order of their commits.

    >>> from holdfast import Holdfast
    >>> hf = Holdfast("work.db")
    >>> event = hf.emit("git:commit", branch="main")
    >>> event.name, event.attributes
    ('git:commit', {'branch': 'main'})
    """

    id: str
    name: str
    attributes: dict[str, str]
    emitted_at: Millis
    trigger: str | None = None
    number: int = 0
    data: Any = None


class Shape(Struct, frozen=True):
    """A pattern, and the names of the attributes that matter, without their values."""

    pattern: str
    attributes: tuple[str, ...]

    def key(self, values: Mapping[str, str]) -> str | None:
        """The key of this shape with these values. None if a value is missing."""
        if not self.attributes:
            return self.pattern
        if any(name not in values for name in self.attributes):
            return None
        wanted = msgspec.json.encode({name: values[name] for name in self.attributes}, order="sorted")
        if len(wanted) > LONGEST_KEY_BYTES:
            return f"{self.pattern}?{hashlib.blake2b(wanted, digest_size=32).hexdigest()}"
        return f"{self.pattern}?{wanted.decode()}"


def shape_of(pattern: str, wanted: Iterable[str]) -> Shape:
    """The shape of a pattern and the attributes that are wanted."""
    return Shape(pattern, tuple(sorted(wanted)))


def attribute_key(name: str) -> str:
    """The key of the condition "the event has this attribute"."""
    return f"{EVENT}.{name}"


def attribute_value(value: str) -> str:
    """The text of such a condition for people. It is not used to find the event."""
    return value if len(value) <= LONGEST_SHOWN else f"{value[:LONGEST_SHOWN]}…"


def patterns_for(name: str) -> list[str]:
    """Every pattern that an event of this name matches."""
    return [name, *(f"{name[:length]}{ANY}" for length in range(len(name) + 1))]


def matches(pattern: str, name: str) -> bool:
    """Whether an event of this name is meant."""
    return name.startswith(pattern[:-1]) if pattern.endswith(ANY) else name == pattern


def keys_for(shapes: Collection[Shape], values: Mapping[str, str]) -> list[str]:
    """The keys that an event with these values has, for these shapes, which match its name."""
    found = (shape.key(values) for shape in shapes)
    return sorted({key for key in found if key is not None})


def refuse_reserved_event(name: str) -> str:
    """Refuse a name that only the system may use."""
    prefix = next((prefix for prefix in RESERVED_EVENTS if name.startswith(prefix)), None)
    if prefix is not None:
        raise Reserved(
            f"event {limits.shown(name)} is reserved: what begins with {prefix} is told by the system; choose "
            "another name"
        )
    return name


def check_attributes(values: Mapping[str, object], what: str = "attributes") -> dict[str, str]:
    """The attributes of an event as texts by name. Numbers, True and False are written as text."""
    if not isinstance(values, Mapping):
        raise ATTRIBUTES.refusal(what, values)
    return ATTRIBUTES.check(what, {name: _text(value) for name, value in values.items()})


def joined_attributes(attributes: Mapping[str, object] | None, more: Mapping[str, object]) -> dict[str, str]:
    """The attributes of an event, given as a mapping, by name, or both."""
    if attributes is None:
        return check_attributes(more)
    if not isinstance(attributes, Mapping):
        raise ATTRIBUTES.refusal("attributes", attributes)
    return check_attributes({**attributes, **more})


def _text(value: object) -> object:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    return value
