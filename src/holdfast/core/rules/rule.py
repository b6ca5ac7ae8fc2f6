"""What one value may be: in words, as msgspec checks it in a request, and as Python checks it.

All three are made from the same facts, so that they cannot differ. `text_rules` and `number_rules` have more kinds of
rules, `value_rules` those that many fields share, and `rules` says which field has which rule.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sized
from copy import copy
from typing import Any, TypeVar, get_args

import msgspec
from msgspec import Meta

from holdfast.core.errors import InvalidInput
from holdfast.core.rules import limits

MOST_ITEMS = 10_000

# What a list of texts is, to people and in a file.
TEXTS = 'a list of texts, such as ["a", "b"]'


def refusal(what: str, value: object, says: str) -> InvalidInput:
    """The error for a value that is not allowed. `what` is the caller's word for it."""
    return InvalidInput(f"{what} {limits.shown(value)} is not valid: use {says}")


class Rule:
    """What a value may be. `says` tells it to people.

    `kind` replaces the type of the field in a request. A list of such values has at least `least` and at most `most` of
    them. `keys` is the rule for the names in an object. No message repeats a value that `is_secret`.
    """

    keys: Rule | None = None
    least = 0
    is_secret = False

    def __init__(self, says: str, *, kind: Any = None, most: int = MOST_ITEMS) -> None:
        self.says = says
        self.kind = kind
        self.most = most

    @property
    def meta(self) -> Meta | None:
        """How msgspec checks it, if its type is not enough."""
        return None

    @property
    def counts(self) -> str:
        """In words: how many of them a list may have."""
        return f"{self.least} to {self.most} of them" if self.least else f"at most {self.most} of them"

    def allows(self, value: object) -> bool:
        """Whether the value is allowed."""
        try:
            msgspec.convert(value, self.kind)
        except msgspec.ValidationError:
            return False
        return True

    def check(self, what: str, value: Any) -> Any:
        """The value, if it is allowed. Otherwise InvalidInput says so of `what`, the caller's word for it."""
        if not self.allows(value):
            raise self.refusal(what, value)
        return value

    def refusal(self, what: str, value: object, says: str | None = None) -> InvalidInput:
        """The error for a value that is not allowed. `says` is for callers that write it in another form."""
        if self.is_secret:
            return InvalidInput(f"{what} is not valid: use {says or self.says}")
        return refusal(what, value, says or self.says)

    def check_count(self, what: str, values: Sized) -> None:
        """Refuse a list that has too many of them, or too few."""
        if not self.least <= len(values) <= self.most:
            raise self.refusal(what, values, self.counts)


class Flag(Rule):
    """True or False. Other values that count as true or false are more likely a mistake."""

    def allows(self, value: object) -> bool:
        """Whether the value is one of the two."""
        return isinstance(value, bool)

    def check(self, what: str, value: object) -> bool:
        """The flag, if it is one."""
        flag: bool = super().check(what, value)
        return flag


class ChoiceRule(Rule):
    """One of a few words."""

    def __init__(self, words: Iterable[str], *, kind: Any = None) -> None:
        self.words = tuple(map(str, words))
        super().__init__(f"one of {', '.join(map(repr, self.words))}", kind=kind)

    def allows(self, value: object) -> bool:
        """Whether the value is one of the words."""
        return value in self.words

    def check(self, what: str, value: object) -> str:
        """The word, if it is one of them."""
        word: str = super().check(what, value)
        return word


class JsonObject(Rule):
    """A JSON object, or the text of one."""

    def allows(self, value: object) -> bool:
        """Whether the value is one. Its contents are not checked."""
        try:
            return isinstance(msgspec.json.decode(value) if isinstance(value, str) else value, Mapping)
        except (ValueError, RecursionError):
            return False


def check_all(rule: Rule, what: str, values: object) -> list[Any]:
    """A list of values, if the rule allows each of them, and so many."""
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        raise refusal(what, values, TEXTS)
    found = [rule.check(what, value) for value in values]
    rule.check_count(what, found)
    return found


R = TypeVar("R", bound=Rule)


def several(rule: R, *, least: int = 0, most: int) -> R:
    """The same rule for each of a list, of which there are so many."""
    made = copy(rule)
    made.least, made.most = least, most
    return made


def one_of(kind: Any) -> ChoiceRule:
    """One of the words of a Literal."""
    return ChoiceRule(get_args(kind), kind=kind)
