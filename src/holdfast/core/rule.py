"""What one value may be: in words, as msgspec checks it in a request, and as Python checks it.

All three are made from the same facts, so that they cannot differ. `rules` says which field has which rule.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sized
from copy import copy
from datetime import datetime
from typing import Any, TypeVar, get_args

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import asdict

from holdfast.core.computed_once import computed_once
from holdfast.core.errors import InvalidInput
from holdfast.core.job import Millis
from holdfast.core.limits import (
    LONGEST_ATTRIBUTE,
    LONGEST_GLOB,
    LONGEST_REASON,
    LONGEST_VALUE,
    LONGEST_VARIABLE,
    LONGEST_VARIABLE_VALUE,
    LONGEST_WINDOW,
    MAX_INT,
    MAX_NAME,
    MAX_PRIORITY,
    MAX_SUBJECT,
    MOST_ATTRIBUTES,
    MOST_GLOBS,
    MOST_STARTS,
    MOST_VARIABLES,
    shown,
)
from holdfast.core.timing import FAR_FUTURE, LONGEST
from holdfast.core.tokens import KINDS, MOST_TOKENS
from holdfast.core.units import (
    DURATION_FORMS,
    SIZE_FORMS,
    duration_words,
    parse_duration,
    parse_size,
    written_size,
)

MOST_ITEMS = 10_000

# `$` also stands before a line break at the end, in Python.
END = r"$(?!\n)"
NAME_PATTERN = r"[A-Za-z0-9_][A-Za-z0-9_.:/<>-]*"
LABEL_PATTERN = r"^[^\x00-\x1f\x7f]+" + END
LINE_PATTERN = r"^[^\x00-\x1f\x7f]*" + END

# What a list of texts is, to people and in a file.
TEXTS = 'a list of texts, such as ["a", "b"]'

# Half of a character: JSON cannot hold it, and no database stores it.
_HALVES = re.compile(r"[\ud800-\udfff]")


def refusal(what: str, value: object, says: str) -> InvalidInput:
    """The error for a value that is not allowed. `what` is the caller's word for it."""
    return InvalidInput(f"{what} {shown(value)} is not valid: use {says}")


class Rule:
    """What a value may be. `says` tells it to people.

    `kind` replaces the type of the field in a request. A list of such values has at least `least` and at most `most` of
    them. `keys` is the rule for the names in an object. No message repeats a value that `is_secret`.
    """

    keys: Text | None = None
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


class Text(Rule):
    """A text of so many characters that matches a pattern."""

    def __init__(
        self,
        says: str,
        longest: int,
        pattern: str,
        shortest: int = 1,
        *,
        most: int = MOST_ITEMS,
    ) -> None:
        super().__init__(says, most=most)
        self.longest = longest
        self.pattern = pattern
        self.shortest = shortest

    # Made at their first use: a short command needs few of them.
    @computed_once
    def meta(self) -> Meta:
        """As msgspec checks it."""
        return Meta(pattern=self.pattern, min_length=self.shortest, max_length=self.longest)

    @computed_once
    def _compiled(self) -> re.Pattern[str]:
        return re.compile(self.pattern)

    def allows(self, value: object) -> bool:
        """Whether the value is such a text."""
        return (
            isinstance(value, str)
            and self.shortest <= len(value) <= self.longest
            and self._compiled.search(value) is not None
            and (value.isascii() or _HALVES.search(value) is None)
        )

    def check(self, what: str, value: object) -> str:
        """The text, if it is allowed."""
        text: str = super().check(what, value)
        return text


class CheckedText(Rule):
    """A text that no pattern can tell alone. `flaw` says what is wrong with one that matches; None if nothing is."""

    def __init__(self, says: str, text: Text, flaw: Callable[[str], str | None]) -> None:
        super().__init__(says, most=text.most)
        self._text = text
        self._flaw = flaw

    @property
    def meta(self) -> Meta:
        """As far as msgspec can check it."""
        return self._text.meta

    def allows(self, value: object) -> bool:
        """Whether the value is such a text."""
        return isinstance(value, str) and self._text.allows(value) and self._flaw(value) is None

    def refusal(self, what: str, value: object, says: str | None = None) -> InvalidInput:
        """What to raise for a value that is not allowed, with its flaw."""
        flaw = self._flaw(value) if isinstance(value, str) and self._text.allows(value) else None
        return super().refusal(what, value, says or (self.says if flaw is None else f"{self.says}; {flaw}"))


class Secret(Text):
    """A text that no message repeats."""

    is_secret = True


class NamedTexts(Rule):
    """Texts by name. `keys` and `texts` say what each may be."""

    def __init__(self, keys: Text, texts: Text, *, most: int, is_secret: bool = False) -> None:
        super().__init__(f"at most {most} names of {keys.says}, each with a text of {texts.says}", most=most)
        self.keys = keys
        self._texts = texts
        self.is_secret = is_secret

    @property
    def meta(self) -> Meta:
        """How msgspec checks each of the texts."""
        return self._texts.meta

    def allows(self, value: object) -> bool:
        """Whether the value is such a mapping."""
        return isinstance(value, Mapping) and len(value) <= self.most and self._flaw(value) is None

    def check(self, what: str, value: object) -> dict[str, str]:
        """The texts by name, if they are allowed."""
        return dict(super().check(what, value))

    def refusal(self, what: str, value: object, says: str | None = None) -> InvalidInput:
        """What to raise for one that is not allowed, with the first name that is wrong."""
        flaw = self._flaw(value) if isinstance(value, Mapping) else None
        return super().refusal(what, value, f"{says or self.says}{'' if flaw is None else f'; {flaw}'}")

    def _flaw(self, value: Mapping[Any, Any]) -> str | None:
        assert self.keys is not None
        for name, text in value.items():
            if not self.keys.allows(name):
                return f"{shown(name)} is no such name"
            if not self._texts.allows(text):
                return f"{shown(name)} has no such text"
        return None


class Whole(Rule):
    """A whole number within bounds; True and False are not numbers here."""

    def __init__(self, low: int, high: int, says: str | None = None) -> None:
        super().__init__(says or f"a whole number from {low} to {high}")
        self.low = low
        self.high = high

    @computed_once
    def meta(self) -> Meta:
        """As msgspec checks it."""
        return Meta(ge=self.low, le=self.high)

    def allows(self, value: object) -> bool:
        """Whether the value is such a number."""
        return isinstance(value, int) and not isinstance(value, bool) and self.low <= value <= self.high

    def check(self, what: str, value: object) -> int:
        """The number, if it is allowed."""
        number: int = super().check(what, value)
        return number


class Number(Whole):
    """A number within bounds, whole or not."""

    def __init__(self, low: int, high: int, says: str | None = None) -> None:
        super().__init__(low, high, says or f"a number from {low} to {high}")

    def allows(self, value: object) -> bool:
        """Whether the value is such a number; NaN is not."""
        return isinstance(value, int | float) and not isinstance(value, bool) and self.low <= value <= self.high


class Period(Whole):
    """A length of time within bounds: milliseconds in a request, and as people and programs write it elsewhere."""

    def __init__(self, low: Millis, high: Millis, of: str = "") -> None:
        self.bounds = f"{of}{duration_words(low)} to {duration_words(high)}"
        super().__init__(low, high, f"{self.bounds}, in milliseconds")
        self.written = f"{self.bounds}, {DURATION_FORMS}"

    def millis(self, what: str, value: object, said: object = None) -> Millis:
        """What a number of seconds, a timedelta or a text such as "1h30m" means, if it is allowed.

        `said` is what the message shows, if the value is only a part of what was given.
        """
        seconds = parse_duration(value)
        if seconds is None or not 0 <= seconds <= self.high / 1000 or round(seconds * 1000) < self.low:
            raise self.refusal(what, value if said is None else said, self.written)
        return round(seconds * 1000)


class Moment(Whole):
    """A point in time: milliseconds since 1970 in a request, and a datetime with a time zone in a program."""

    def __init__(self) -> None:
        self.bounds = "a moment from 1970 to 9999"
        super().__init__(0, FAR_FUTURE, f"{self.bounds}, in milliseconds since 1970")

    def millis(self, what: str, value: object) -> Millis:
        """What a datetime means, if it is allowed."""
        has_zone = isinstance(value, datetime) and value.utcoffset() is not None
        millis = round(value.timestamp() * 1000) if isinstance(value, datetime) and has_zone else None
        if millis is None or not self.allows(millis):
            raise self.refusal(what, value, f"{self.bounds}, as a datetime with a time zone such as datetime.UTC")
        return millis


class Size(Whole):
    """A number of bytes within bounds; 0 beside them for none, if there may be none."""

    def __init__(self, low: int, high: int, *, may_be_none: bool = False) -> None:
        none = "0, or " if may_be_none else ""
        super().__init__(low, high, f"{none}{written_size(low)} to {written_size(high)}, {SIZE_FORMS}")
        self.may_be_none = may_be_none

    def allows(self, value: object) -> bool:
        """Whether the value is such a number of bytes."""
        is_none = self.may_be_none and isinstance(value, int) and not isinstance(value, bool) and value == 0
        return is_none or super().allows(value)

    def bytes(self, what: str, value: object) -> int:
        """What a whole number or a text such as "64MiB" means, if it is allowed."""
        size = parse_size(value)
        if not self.allows(size):
            raise self.refusal(what, value, f"{self.says}{self._meant(value)}")
        assert size is not None
        return size

    def _meant(self, value: object) -> str:
        """The value, but less than a mebibyte is more likely a number without its unit."""
        is_bare = isinstance(value, int) or (isinstance(value, str) and value.isascii() and value.isdigit())
        size = parse_size(value) if is_bare else None
        return f'; "{size}MiB" for {size} MiB' if size is not None and 0 < size < min(self.low, 1 << 20) else ""


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


class Counts(Rule):
    """A whole number for each of some kinds."""

    def __init__(self, kinds: Iterable[str], count: Whole) -> None:
        self.kinds = tuple(kinds)
        self._count = count
        super().__init__(f"a number for each of {', '.join(self.kinds)}")

    def allows(self, value: object) -> bool:
        """Whether the value has numbers of these kinds alone. The numbers are not checked."""
        return isinstance(value, Mapping) and set(value) <= set(self.kinds)

    def check(self, what: str, value: object) -> dict[str, int]:
        """The numbers by kind, if they are allowed. They may be given as the fields of a struct."""
        given: Mapping[str, object] = super().check(what, asdict(value) if isinstance(value, Struct) else value)
        return {kind: self._count.check(f"{what} {kind}", count) for kind, count in given.items()}


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


def label(longest: int = MAX_NAME, *, most: int = MOST_ITEMS) -> Text:
    """Any text that fits on a line."""
    return Text(f"1 to {longest} characters without control characters", longest, LABEL_PATTERN, most=most)


def line(longest: int) -> Text:
    """Any text that fits on a line, or none."""
    return Text(f"at most {longest} characters, no control characters", longest, LINE_PATTERN, 0)


def one_of(kind: Any) -> ChoiceRule:
    """One of the words of a Literal."""
    return ChoiceRule(get_args(kind), kind=kind)


FLAG = Flag("true or false")
JOBS = Rule("a list of jobs")
JOBS.is_secret = True  # Their payloads may be.
NAME = Text(f"1 to {MAX_NAME} letters, digits and _ . : / -", MAX_NAME, f"^{NAME_PATTERN}{END}")
LABEL = label()
SUBJECT = label(MAX_SUBJECT)
REASON = label(LONGEST_REASON)
IGNORE = label(LONGEST_GLOB, most=MOST_GLOBS)
WHOLE = Whole(-MAX_INT - 1, MAX_INT, "a whole number of 64 bits")
PRIORITY = Whole(-MAX_PRIORITY, MAX_PRIORITY)
# Nanoseconds since the epoch fit, and there is always room for the next one.
GENERATION = Whole(0, 2**62)
MOMENT = Moment()
DURATION = Period(0, LONGEST)
SPAN = Period(1, LONGEST)
PATTERN = Text(
    "the name of an event, or the beginning of one with * behind",
    MAX_NAME + 1,
    # What has no * behind may be no longer than a name.
    rf"^(({NAME_PATTERN})?\*|(?=.{{1,{MAX_NAME}}}$){NAME_PATTERN}){END}",
)
ATTRIBUTE = Text(f"1 to {LONGEST_ATTRIBUTE} letters, digits and _ . : / -", LONGEST_ATTRIBUTE, f"^{NAME_PATTERN}{END}")
ATTRIBUTES = NamedTexts(ATTRIBUTE, line(LONGEST_VALUE), most=MOST_ATTRIBUTES)
VARIABLE = Text(f"1 to {LONGEST_VARIABLE} characters without = and NUL", LONGEST_VARIABLE, r"^[^=\x00]+" + END)
VARIABLES = NamedTexts(
    VARIABLE,
    Text(f"at most {LONGEST_VARIABLE_VALUE} whole characters, no NUL", LONGEST_VARIABLE_VALUE, r"^[^\x00]*" + END, 0),
    most=MOST_VARIABLES,
    is_secret=True,
)
RETRIES = Whole(0, 1_000_000)
FACTOR = Number(1, 1_000_000)
TOKEN_COUNT = Whole(0, MOST_TOKENS)
TOKENS = Counts(KINDS, TOKEN_COUNT)
CONCURRENCY = Whole(0, 1_000_000)
STARTS = Whole(1, MOST_STARTS, f"1 to {MOST_STARTS} starts")
WINDOW = Period(1, LONGEST_WINDOW, "a window of ")
