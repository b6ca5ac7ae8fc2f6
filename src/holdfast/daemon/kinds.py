"""The kinds of values that a setting can have: how each is read, what is allowed, how it is written in a file."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from msgspec import Struct

from holdfast.core.addresses import AddressPolicy
from holdfast.core.errors import InvalidInput
from holdfast.core.limits import check_name

_DURATION = re.compile(r"(?:\d+(?:\.\d+)?(?:ms|s|m|h|d|w))+")
_PART = re.compile(r"(?<![\d.])(\d+(?:\.\d+)?)(ms|s|m|h|d|w)")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0, "w": 604_800.0}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s?(B|KiB|MiB|GiB|kB|MB|GB)")
_PERCENT = re.compile(r"(\d+(?:\.\d+)?)\s?%")
_BYTES = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "kB": 1_000, "MB": 10**6, "GB": 10**9}


class Wrong(Exception):
    """A value that does not fit; with a text, that is what was probably meant."""


class Kind(Struct, frozen=True):
    """What a setting can be: `allowed` says it to a person, `read` turns a value of the file into what it means.

    `write` is for those that their type alone does not tell how to write."""

    allowed: str
    read: Callable[[Any], Any]
    write: Callable[[Any], str] | None = None


class Says(Struct, frozen=True):
    """What a setting is about, and, where it is not set by default, an example of a value."""

    text: str
    kind: Kind
    example: str | None = None


def whole(low: int, high: int) -> Kind:
    """A whole number within bounds."""

    def read(value: Any) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            raise Wrong
        return value

    return Kind(f"a whole number from {low} to {high}", read)


def share() -> Kind:
    """A part of a whole."""

    def read(value: Any) -> float:
        if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value <= 1:
            raise Wrong
        return float(value)

    return Kind("a number above 0, up to 1", read, str)


def limit_share(*, is_whole_allowed: bool = True) -> Kind:
    """A part of a whole, as a number or a text like "80%", or 0 for none."""

    def read(value: Any) -> float:
        found = _PERCENT.fullmatch(value) if isinstance(value, str) else None
        number = float(found[1]) / 100 if found else value
        if not isinstance(number, int | float) or isinstance(number, bool):
            raise Wrong
        if number > 1 or (number == 1 and not is_whole_allowed):
            # Whoever wrote a whole number thought of percent.
            percent = float(found[1]) if found else float(number)
            raise Wrong(f'{percent / 100:g} or "{percent:g}%" for {percent:g} %' if percent < 100 else "")
        if not number >= 0:
            raise Wrong
        return float(number)

    most = "up to 1" if is_whole_allowed else "below 1"
    return Kind(f'a number from 0, {most}, or a text such as "80%"', read, str)


def one_of(*words: str) -> Kind:
    """One of a few words."""

    def read(value: Any) -> str:
        if value not in words:
            raise Wrong
        return str(value)

    return Kind(" or ".join(f'"{word}"' for word in words), read)


def duration(low: float, high: float, allowed: str) -> Kind:
    """Seconds, as a number or a text like "1h30m"."""

    def read(value: Any) -> float:
        seconds = _seconds(value)
        if seconds is None or not low <= seconds <= high:
            raise Wrong
        return seconds

    return Kind(f'{allowed}, in seconds or as a text such as "500ms", "30s", "90m", "7d"', read)


def size(low: int, high: int) -> Kind:
    """Bytes, as a number or a text like "64MiB"."""

    def read(value: Any) -> int:
        number = parse_size(value)
        if number is None or not low <= number <= high:
            raise Wrong
        return number

    return Kind(f'{in_bytes(low)} to {in_bytes(high)}, in bytes or as a text such as "64MiB"', read)


def limit_size(low: int, high: int) -> Kind:
    """Bytes, or 0 for no limit. Less than `low` is a number whose unit was forgotten."""

    def read(value: Any) -> int:
        number = parse_size(value)
        if number is None or not (number == 0 or low <= number <= high):
            meant = f'"{value}MiB" for {value} MiB' if isinstance(value, int) and 0 < value < 1 << 20 else ""
            raise Wrong(meant)
        return number

    return Kind(f'0, or {in_bytes(low)} to {in_bytes(high)}, in bytes or as a text such as "64MiB"', read)


def parse_size(value: Any) -> int | None:
    """How many bytes a number, or a text like "64MiB", means; None if it means none."""
    found = _SIZE.fullmatch(value) if isinstance(value, str) else None
    number = round(float(found[1]) * _BYTES[found[2]]) if found else value
    return number if isinstance(number, int) and not isinstance(number, bool) else None


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value or not value.isprintable():
        raise Wrong
    return value


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise Wrong
    return value


def _words(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list | tuple):
        raise Wrong
    return tuple(_text(item) for item in value)


def _hosts(value: Any) -> tuple[str, ...]:
    try:
        AddressPolicy.of(_words(value))
    except InvalidInput:
        raise Wrong from None
    return _words(value)


def _slots(value: Any) -> int | dict[str, int]:
    count = whole(1, 10_000).read
    if not isinstance(value, dict):
        return int(count(value))
    try:
        return {check_name("queue", queue): count(slots) for queue, slots in value.items()}
    except InvalidInput:
        raise Wrong from None


def _url(value: Any) -> str:
    try:
        parts = urlsplit(_text(value))
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.port == 0:
            raise Wrong
    except ValueError:
        raise Wrong from None
    return str(value)


TEXT = Kind("a text", _text)
FLAG = Kind("true or false", _flag)
HOSTS = Kind('a list of hosts, addresses and networks, such as ["intranet.example", "10.1.0.0/16"]', _hosts)
WORDS = Kind('a list of texts, such as ["a", "b"]', _words)
SLOTS = Kind("a whole number from 1 to 10000, or a table of such numbers by queue, such as { mail = 2 }", _slots)
URL = Kind('an http:// or https:// address, such as "http://localhost:4318"', _url)


def _seconds(value: Any) -> float | None:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    if not isinstance(value, str) or not _DURATION.fullmatch(value):
        return None
    return sum(float(number) * _SECONDS[unit] for number, unit in _PART.findall(value))


def in_time(seconds: float) -> str:
    """A duration as a person writes it."""
    for unit in ("d", "h", "m", "s"):
        if seconds >= _SECONDS[unit] and seconds % _SECONDS[unit] == 0:
            return f"{seconds / _SECONDS[unit]:g}{unit}"
    return f"{seconds * 1000:g}ms" if seconds else "0s"


def in_bytes(number: int) -> str:
    """A size as a person writes it."""
    for unit in ("GiB", "MiB", "KiB"):
        if number >= _BYTES[unit] and number % _BYTES[unit] == 0:
            return f"{number // _BYTES[unit]}{unit}"
    return f"{number}B"
