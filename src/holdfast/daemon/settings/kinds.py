"""The kinds of values that a setting can have: how each is read, what is allowed, how it is written in a file."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from msgspec import Struct

from holdfast.core.rules import rule, value_rules
from holdfast.core.rules.number_rules import Period, Size, Whole
from holdfast.core.rules.rule import ChoiceRule, Rule
from holdfast.core.settings import rule_table
from holdfast.core.settings.rule_table import RULES
from holdfast.core.webhooks.addresses import AddressPolicy

_PERCENT = re.compile(r"(\d+(?:\.\d+)?)\s?%")


class Wrong(Exception):
    """A value that does not fit. With a text, that is what was probably meant."""


class SettingKind(Struct, frozen=True):
    """What a setting can be. `allowed` says it to people, `read` turns a value of the file into what it means.

    `read` also takes the name of the setting, for InvalidInput. `write` is for values whose type alone does not tell
    how to write them."""

    allowed: str
    read: Callable[[str, Any], Any]
    write: Callable[[Any], str] | None = None


class Says(Struct, frozen=True):
    """What a setting is about and, if it is not set by default, an example of a value."""

    text: str
    kind: SettingKind
    example: str | None = None


def kind(allowed: str, meaning: Callable[[Any], Any], write: Callable[[Any], str] | None = None) -> SettingKind:
    """A kind that only a file has. `meaning` raises Wrong if a value is not allowed."""

    def read(what: str, value: Any) -> Any:
        try:
            return meaning(value)
        except Wrong as wrong:
            raise rule.refusal(what, value, str(wrong) or allowed) from None

    return SettingKind(allowed, read, write)


def by_rule(field: str) -> SettingKind:
    """The kind of a field in the table of rules."""
    return within(RULES[field])


def whole(low: int, high: int) -> SettingKind:
    """A whole number within bounds."""
    return within(Whole(low, high))


def duration(low: float, high: float) -> SettingKind:
    """Seconds, as a number or a text like "1h30m"."""
    return within(Period(round(low * 1000), round(high * 1000)))


def size(low: int, high: int) -> SettingKind:
    """Bytes, as a number or a text like "64MiB"."""
    return within(Size(low, high))


def limit_size(limit: Size) -> SettingKind:
    """Bytes, or 0 for no limit."""
    return within(limit)


def within(one: Rule) -> SettingKind:
    """The kind of a rule."""
    match one:
        case Period():
            return SettingKind(one.written, lambda what, value: one.millis(what, value) / 1000)
        case Size():
            return SettingKind(one.says, one.bytes)
    return SettingKind(one.says, one.check)


def share() -> SettingKind:
    """A part of a whole."""

    def read(value: Any) -> float:
        if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value <= 1:
            raise Wrong
        return float(value)

    return kind("a number above 0, up to 1", read, str)


def limit_share(*, is_whole_allowed: bool = True) -> SettingKind:
    """A part of a whole, as a number or a text like "80%", or 0 for none."""

    def read(value: Any) -> float:
        found = _PERCENT.fullmatch(value) if isinstance(value, str) else None
        number = float(found[1]) / 100 if found else value
        if not isinstance(number, int | float) or isinstance(number, bool):
            raise Wrong
        if number > 1 or (number == 1 and not is_whole_allowed):
            # A whole number was meant as percent.
            percent = float(found[1]) if found else float(number)
            raise Wrong(f'{percent / 100:g} or "{percent:g}%" for {percent:g} %' if percent < 100 else "")
        if not number >= 0:
            raise Wrong
        return float(number)

    most = "up to 1" if is_whole_allowed else "below 1"
    return kind(f'a number from 0, {most}, or a text such as "80%"', read, str)


def one_of(*words: str) -> SettingKind:
    """One of a few words."""

    return within(ChoiceRule(words))


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value or not value.isprintable():
        raise Wrong
    return value


def _words(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list | tuple):
        raise Wrong
    return tuple(_text(item) for item in value)


def _hosts(what: str, value: Any) -> tuple[str, ...]:
    AddressPolicy.of(value, what)
    return tuple(value)


def _url(what: str, value: Any) -> str:
    try:
        parts = urlsplit(_text(value))
        if parts.scheme in ("http", "https") and parts.hostname and parts.port != 0:
            return str(value)
    except (Wrong, ValueError):
        pass
    raise rule.refusal(what, rule_table.without_user(value) if isinstance(value, str) else value, _AN_ADDRESS)


def _place(what: str, value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise RULES["NewWatch.path"].refusal(what, value)
    return value


TEXT = kind("a text", _text)
PLACE = SettingKind("a text", _place)  # The rule is asked when it is an absolute path.
FLAG = within(value_rules.FLAG)
HOSTS = SettingKind('a list of hosts, addresses and networks, such as ["intranet.example", "10.1.0.0/16"]', _hosts)
WORDS = kind(rule.TEXTS, _words)
SLOTS = SettingKind(
    f'{RULES["worker.slots"].says}, or a table of numbers by queue, such as {{ mail = 2, "*" = 1 }}',
    rule_table.check_slots,
)
_AN_ADDRESS = 'an http:// or https:// address, such as "http://localhost:4318"'
URL = SettingKind(_AN_ADDRESS, _url)
