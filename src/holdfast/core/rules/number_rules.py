"""Rules for numbers: counts, lengths of time, moments, sizes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

from msgspec import Meta, Struct
from msgspec.structs import asdict

from holdfast.core.computed_once import computed_once
from holdfast.core.job import Millis
from holdfast.core.rules import units
from holdfast.core.rules.rule import Rule
from holdfast.core.rules.timing import FAR_FUTURE
from holdfast.core.rules.units import DURATION_FORMS, SIZE_FORMS


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
        self.bounds = f"{of}{units.duration_words(low)} to {units.duration_words(high)}"
        super().__init__(low, high, f"{self.bounds}, in milliseconds")
        self.written = f"{self.bounds}, {DURATION_FORMS}"

    def millis(self, what: str, value: object, said: object = None) -> Millis:
        """What a number of seconds, a timedelta or a text such as "1h30m" means, if it is allowed.

        `said` is what the message shows, if the value is only a part of what was given.
        """
        seconds = units.parse_duration(value)
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
        super().__init__(low, high, f"{none}{units.written_size(low)} to {units.written_size(high)}, {SIZE_FORMS}")
        self.may_be_none = may_be_none

    def allows(self, value: object) -> bool:
        """Whether the value is such a number of bytes."""
        is_none = self.may_be_none and isinstance(value, int) and not isinstance(value, bool) and value == 0
        return is_none or super().allows(value)

    def bytes(self, what: str, value: object) -> int:
        """What a whole number or a text such as "64MiB" means, if it is allowed."""
        size = units.parse_size(value)
        if not self.allows(size):
            raise self.refusal(what, value, f"{self.says}{self._meant(value)}")
        assert size is not None
        return size

    def _meant(self, value: object) -> str:
        """The value, but less than a mebibyte is more likely a number without its unit."""
        is_bare = isinstance(value, int) or (isinstance(value, str) and value.isascii() and value.isdigit())
        size = units.parse_size(value) if is_bare else None
        return f'; "{size}MiB" for {size} MiB' if size is not None and 0 < size < min(self.low, 1 << 20) else ""


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
