"""What the declaration of an option can say. The options themselves are in `options`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum, Flag, auto
from typing import Any

from msgspec import Struct

from holdfast.core.rules.rule import Rule


class SaidIn(Flag):
    """Where an option may be given."""

    CALL = auto()
    TASK = auto()
    TEMPLATE = auto()
    SCHEDULE = auto()
    WATCH = auto()
    QUEUE = auto()


FOR_ONE_JOB = SaidIn.CALL
FOR_EVERY_JOB = SaidIn.CALL | SaidIn.TASK | SaidIn.TEMPLATE | SaidIn.SCHEDULE


class RetryKind(Flag):
    """The kinds of retries that make a new job. An option may be kept in some of them."""

    NEVER = 0
    BY_HAND = auto()
    IN_CHAIN = auto()
    IN_GROUP = auto()
    ALWAYS = BY_HAND | IN_CHAIN | IN_GROUP


class Typed(Enum):
    """How a value is written on the command line."""

    TEXT = auto()
    NUMBER = auto()
    FLAG = auto()
    NO = auto()  # a flag that takes away what is usual
    DURATION = auto()
    MOMENT = auto()
    COUNTS = auto()
    PAIRS = auto()
    VARIABLES = auto()
    JOBS = auto()
    GROUP = auto()
    SUBJECT = auto()
    TEXTS = auto()
    OBJECT = auto()


class Word(Struct, frozen=True, kw_only=True):
    """An option on the command line. Without `names` or `help` it is called and explained as in programs.

    `complete` is what the shell offers: the function of that name in `cli.completion`.
    """

    names: tuple[str, ...] = ()
    help: str = ""
    metavar: str | None = None
    complete: str | None = None
    field: str | None = None


class OptionKind(Struct, frozen=True, kw_only=True):
    """A kind of value: what a program gives, what is sent, and what is stored.

    `take` checks what a program gave, and makes what is sent. Its first argument is the name of the value in messages.
    Without it, a value is sent as it is given. `wire` is the type of what is sent, `rule` says what that may be, and
    `empty` means that nothing is given.
    `fields` are the kinds of a value that is sent as several fields. Then `take` makes one value for each.
    `columns` are for values that need several columns. `stored` is the type of a column, if it differs from `wire`.
    `store` makes the value of its column, or of all of them, and `load` reads it back. `is_long`: it may be a long
    document, of which lists show only the beginning. `typed` tells how it is written on the command line.
    """

    wire: Any
    rule: Rule | None = None
    take: Callable[[str, Any], Any] | None = None
    empty: Any = None
    columns: Mapping[str, type] = {}
    fields: Mapping[str, OptionKind] = {}
    stored: type | None = None
    store: Callable[[Any], Any] | None = None
    load: Callable[[Any], Any] | None = None
    is_long: bool = False
    typed: Typed = Typed.TEXT

    def check(self, what: str, value: Any) -> Any:
        """What is sent for a value that a program gave. InvalidInput if it is not allowed."""
        if self.take is not None:
            return self.take(what, value)
        return value if self.rule is None else self.rule.check(what, value)


class JobOption(Struct, frozen=True, kw_only=True):
    """One thing that can be said about a job.

    `default` is what a job has, as it is sent, if neither the request nor its task nor its queue says anything.
    `wire` is its field in requests and answers, and `column` its column, if they have other names. "" means no column
    of its own. `is_answered`: answers have it. `filters`: lists can be filtered by it. `told_to_worker`: a worker that
    claims a job is told it; it has one column. `label` is what people see before its value.
    """

    kind: OptionKind
    help: str
    default: Any = None
    said: SaidIn = FOR_EVERY_JOB
    again: RetryKind = RetryKind.ALWAYS
    wire: str = ""
    column: str | None = None
    word: Word | None = None
    filters: bool = False
    is_answered: bool = True
    told_to_worker: bool = False
    label: str = ""
    name: str = ""

    @property
    def columns(self) -> Mapping[str, type]:
        """Where it is stored in a row of `jobs`, and as what."""
        named = self.wire if self.column is None else self.column
        return self.kind.columns or ({named: self.kind.stored or self.kind.wire} if named else {})

    @property
    def is_comparable(self) -> bool:
        """Whether lists can be filtered by it: one column holds its one value, or what `store` makes of that."""
        kinds = list(self.columns.values())
        is_same = self.kind.store is not None or kinds == [self.kind.wire]
        return len(kinds) == 1 and is_same and self.kind.wire in (str, int, float, bool)
