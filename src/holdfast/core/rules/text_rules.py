"""Rules for texts, and for texts by name."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Meta

from holdfast.core.computed_once import computed_once
from holdfast.core.errors import InvalidInput
from holdfast.core.rules import limits
from holdfast.core.rules.limits import MAX_NAME
from holdfast.core.rules.rule import MOST_ITEMS, Rule

# `$` also stands before a line break at the end, in Python.
END = r"$(?!\n)"
NAME_PATTERN = r"[A-Za-z0-9_][A-Za-z0-9_.:/<>-]*"
LABEL_PATTERN = r"^[^\x00-\x1f\x7f]+" + END
LINE_PATTERN = r"^[^\x00-\x1f\x7f]*" + END

# Half of a character: JSON cannot hold it, and no database stores it.
_HALVES = re.compile(r"[\ud800-\udfff]")


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


class SecretText(Text):
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
                return f"{limits.shown(name)} is no such name"
            if not self._texts.allows(text):
                return f"{limits.shown(name)} has no such text"
        return None


def label(longest: int = MAX_NAME, *, most: int = MOST_ITEMS) -> Text:
    """Any text that fits on a line."""
    return Text(f"1 to {longest} characters without control characters", longest, LABEL_PATTERN, most=most)


def line(longest: int) -> Text:
    """Any text that fits on a line, or none."""
    return Text(f"at most {longest} characters, no control characters", longest, LINE_PATTERN, 0)
