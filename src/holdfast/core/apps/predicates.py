"""Predicates: which events a listener wants, written as comparisons of what an event has.

`P` names a field of an event. A field compared with a value is a predicate, and predicates are joined by `&`, `|` and
`~`. A predicate is a value: it can be called with an event, compared with another one, and printed as it was written.
"""

from __future__ import annotations

import functools
import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn, Protocol, TypeAlias

from holdfast.core.apps import comparing
from holdfast.core.apps.comparing import MISSING, Comparator
from holdfast.core.errors import InvalidInput
from holdfast.core.rules import limits, rule
from holdfast.core.rules.value_rules import ATTRIBUTE

LONGEST_DESCRIPTION = 500


class EventFacts(Protocol):
    """What a predicate sees of an event. None as data: it has none."""

    @property
    def name(self) -> str:
        """The name of the event."""

    @property
    def attributes(self) -> Mapping[str, str]:
        """Its attributes."""

    @property
    def data(self) -> Any:
        """Its data: JSON."""


class Predicate(ABC):
    """Whether an event is wanted. Join predicates by `&`, `|` and `~`, and call one with an event."""

    __slots__ = ()

    @abstractmethod
    def __call__(self, event: EventFacts) -> bool:
        """Whether the event fits."""

    def __and__(self, other: Predicate) -> Predicate:
        if not isinstance(other, Predicate):
            return NotImplemented
        return Conjunction((*_parts(self, Conjunction), *_parts(other, Conjunction)))

    def __or__(self, other: Predicate) -> Predicate:
        if not isinstance(other, Predicate):
            return NotImplemented
        return Disjunction((*_parts(self, Disjunction), *_parts(other, Disjunction)))

    def __invert__(self) -> Predicate:
        return Negation(self)

    def __bool__(self) -> bool:
        raise TypeError(
            f"{limits.shown(self)} is neither true nor false by itself: use & and |, not and/or, and ~ for not"
        )


@dataclass(frozen=True, slots=True, repr=False)
class Conjunction(Predicate):
    """Each of these fits."""

    parts: tuple[Predicate, ...]

    def __call__(self, event: EventFacts) -> bool:
        """Whether the event fits all of them."""
        return all(part(event) for part in self.parts)

    def __repr__(self) -> str:
        return " & ".join(map(_enclosed, self.parts))


@dataclass(frozen=True, slots=True, repr=False)
class Disjunction(Predicate):
    """At least one of these fits."""

    parts: tuple[Predicate, ...]

    def __call__(self, event: EventFacts) -> bool:
        """Whether the event fits one of them."""
        return any(part(event) for part in self.parts)

    def __repr__(self) -> str:
        return " | ".join(map(_enclosed, self.parts))


@dataclass(frozen=True, slots=True, repr=False)
class Negation(Predicate):
    """This one does not fit."""

    part: Predicate

    def __call__(self, event: EventFacts) -> bool:
        """Whether the event does not fit it."""
        return not self.part(event)

    def __repr__(self) -> str:
        return f"~{_enclosed(self.part)}"


@dataclass(frozen=True, slots=True)
class AttributeField:
    """An attribute of an event: a text."""

    name: str

    def read(self, event: EventFacts) -> object:
        """Its text, or MISSING."""
        return event.attributes.get(self.name, MISSING)

    def fits(self, event: EventFacts, comparator: Comparator, constant: Any) -> bool:
        """Whether it compares so with the constant."""
        return comparing.fits_attribute(self.read(event), comparator, constant)

    def check(self, comparison: str, constant: Any) -> None:
        """Refuse a constant that no text can equal."""
        if constant is None or isinstance(constant, list | dict):
            raise rule.refusal(
                comparison, constant, "a text, a number, True or False; exists() asks whether it is there"
            )

    def __repr__(self) -> str:
        return f"P.attr({self.name!r})"


@dataclass(frozen=True, slots=True)
class DataField:
    """A value in the data of an event, at a path. Without a path: all of them."""

    path: tuple[str, ...]

    def read(self, event: EventFacts) -> object:
        """The value, or MISSING."""
        return MISSING if event.data is None else comparing.read_path(event.data, self.path)

    def fits(self, event: EventFacts, comparator: Comparator, constant: Any) -> bool:
        """Whether it compares so with the constant."""
        return comparing.fits_data(self.read(event), comparator, constant)

    def check(self, comparison: str, constant: Any) -> None:
        """Any constant may be in the data."""

    def __repr__(self) -> str:
        return f"P.data({'.'.join(self.path)!r})" if self.path else "P.data()"


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Comparison(Predicate):
    """A field compared with a constant, or with a list of them."""

    field: AttributeField | DataField
    comparator: Comparator
    constant: Any

    def __call__(self, event: EventFacts) -> bool:
        """Whether the field of the event compares so."""
        return self.field.fits(event, self.comparator, self.constant)

    # To Python 1 and True are equal, but not to an event.
    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Comparison):
            return NotImplemented
        is_alike = self.field == other.field and self.comparator is other.comparator
        return is_alike and comparing.is_same(self.constant, other.constant)

    # A list has no hash.
    def __hash__(self) -> int:
        return hash((self.field, self.comparator))

    def __repr__(self) -> str:
        if self.comparator is Comparator.IN:
            return f"{self.field!r}.in_({self.constant!r})"
        return f"{self.field!r} {self.comparator} {self.constant!r}"


@dataclass(frozen=True, slots=True, repr=False)
class Existence(Predicate):
    """The event has the field."""

    field: AttributeField | DataField

    def __call__(self, event: EventFacts) -> bool:
        """Whether it is there, whatever its value."""
        return self.field.read(event) is not MISSING

    def __repr__(self) -> str:
        return f"{self.field!r}.exists()"


class Comparable:
    """A field of an event. Compared with a value, it is a predicate."""

    __slots__ = ("_field",)

    def __init__(self, field: AttributeField | DataField) -> None:
        self._field = field

    def __eq__(self, value: object) -> Predicate:  # type: ignore[override]
        return self._compared(Comparator.EQUAL, value)

    def __ne__(self, value: object) -> Predicate:  # type: ignore[override]
        return self._compared(Comparator.UNEQUAL, value)

    def __lt__(self, value: object) -> Predicate:
        return self._compared(Comparator.LESS, value)

    def __le__(self, value: object) -> Predicate:
        return self._compared(Comparator.AT_MOST, value)

    def __gt__(self, value: object) -> Predicate:
        return self._compared(Comparator.MORE, value)

    def __ge__(self, value: object) -> Predicate:
        return self._compared(Comparator.AT_LEAST, value)

    def in_(self, values: Iterable[object]) -> Predicate:
        """Whether the field equals one of these values."""
        what = f"{self!r}.in_"
        if isinstance(values, str | bytes | Mapping | Comparable) or not isinstance(values, Iterable):
            raise rule.refusal(what, values, 'a list of values, such as ["a", "b"]')
        constants = [comparing.check_constant(what, value) for value in values]
        for constant in constants:
            self._field.check(what, constant)
        return Comparison(self._field, Comparator.IN, constants)

    def exists(self) -> Predicate:
        """Whether an event has the field, whatever its value."""
        return Existence(self._field)

    def __repr__(self) -> str:
        return repr(self._field)

    def __bool__(self) -> bool:
        raise TypeError(f"{self!r} is neither true nor false by itself: compare it with a value, or use exists()")

    def _join(self, other: object) -> NoReturn:
        raise TypeError(f"{self!r} is no predicate: put each comparison in parentheses, as in (a == 1) & (b == 2)")

    __and__ = __rand__ = __or__ = __ror__ = _join

    def _compared(self, comparator: Comparator, value: object) -> Predicate:
        what = f"{self!r} {comparator}"
        constant = comparing.check_constant(what, value)
        self._field.check(what, constant)
        if comparator.needs_order and (isinstance(constant, bool) or not isinstance(constant, str | int | float)):
            raise rule.refusal(what, constant, "a text or a number; others are compared by == and !=")
        return Comparison(self._field, comparator, constant)


class P:
    """What an event has, to be compared with values: `P.attr("branch") == "main"`.

    An attribute is a text. It is read as a number if it is compared with one. What is missing fits no comparison. Join
    comparisons by `&`, `|` and `~`, each in parentheses.

    >>> from holdfast.core.apps.predicates import P
    >>> from holdfast.core.values.event import Event
    >>> wanted = (P.attr("branch") == "main") & (P.data("files.0.size") > 1000)
    >>> files = [{"path": "a.py", "size": 2000}]
    >>> wanted(Event(id="e", name="git:push", attributes={"branch": "main"}, emitted_at=0, data={"files": files}))
    True
    >>> wanted | ~P.attr("branch").exists()
    ((P.attr('branch') == 'main') & (P.data('files.0.size') > 1000)) | ~P.attr('branch').exists()
    """

    def __init__(self) -> None:
        raise TypeError("P is not called itself: use P.attr(name) or P.data(path)")

    @staticmethod
    def attr(name: str) -> Comparable:
        """An attribute."""
        return Comparable(AttributeField(ATTRIBUTE.check("attribute", name)))

    @staticmethod
    def data(path: str | None = None) -> Comparable:
        """A value in the data, at a path such as "files.0.size". Without a path: all of the data."""
        parts = () if path is None else tuple(path.split(".")) if isinstance(path, str) else ("",)
        if not all(parts):
            raise rule.refusal(
                "data", path, 'a path of keys, and of numbers in lists, with dots, such as "files.0.size"'
            )
        return Comparable(DataField(parts))


# A function of an event says by any true value that it wants the event.
Where: TypeAlias = Predicate | Callable[[Any], object]


def describe(where: Where | None) -> str | None:
    """What is wanted, for people: a predicate as it was written, a function by its name. None: every event."""
    if where is None:
        return None
    while isinstance(where, functools.partial):
        where = where.func
    if isinstance(where, Predicate):
        text = repr(where)
    elif callable(where) and where is not P and not inspect.iscoroutinefunction(where):
        named = where if hasattr(where, "__qualname__") else type(where)
        # What is built in may have no module.
        text = ".".join(filter(None, (named.__module__, named.__qualname__)))
    else:
        raise InvalidInput(
            f"where {limits.shown(where)} is not valid: use a predicate such as P.attr('branch') == 'main', "
            "or a function of an event that is not async"
        )
    return text if len(text) <= LONGEST_DESCRIPTION else f"{text[: LONGEST_DESCRIPTION - 1]}…"


def _parts(predicate: Predicate, kind: type[Conjunction] | type[Disjunction]) -> tuple[Predicate, ...]:
    """The parts of a predicate of this kind. Any other is one part."""
    return predicate.parts if isinstance(predicate, kind) else (predicate,)


def _enclosed(predicate: Predicate) -> str:
    """A predicate as a part of another. A comparison binds less than what joins it."""
    is_call = isinstance(predicate, Comparison) and predicate.comparator is Comparator.IN
    stands_alone = is_call or isinstance(predicate, Existence | Negation)
    return repr(predicate) if stands_alone else f"({predicate!r})"
