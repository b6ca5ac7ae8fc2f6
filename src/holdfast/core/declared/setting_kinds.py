"""The kinds of values that only settings of a queue or a watch have."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

import msgspec

from holdfast.core.declared.option import OptionKind, Typed
from holdfast.core.errors import InvalidPayload
from holdfast.core.job import Millis
from holdfast.core.rules.number_rules import Period, Whole
from holdfast.core.rules.rule import ChoiceRule, Rule, check_all, one_of
from holdfast.core.rules.units import Duration
from holdfast.core.rules.value_rules import FLAG, STARTS, WINDOW
from holdfast.core.values import retry_option
from holdfast.core.values.payload import PAYLOAD, check_arguments
from holdfast.core.values.rate import Rate, make_rate, parse_rate
from holdfast.core.values.retry import RetryPolicy

# Made at the import: threads that read a struct for the first time must not do so at once.
_POLICY = msgspec.json.Decoder(RetryPolicy)


def number(rule: Whole) -> OptionKind:
    """A whole number."""
    return OptionKind(wire=int, rule=rule, typed=Typed.NUMBER)


def period(rule: Period) -> OptionKind:
    """A length of time."""
    return OptionKind(wire=Millis, rule=rule, take=rule.millis, typed=Typed.DURATION)


def word_of(words: type[StrEnum]) -> OptionKind:
    """One of a few words."""
    rule = ChoiceRule(words)
    return OptionKind(
        wire=words, rule=rule, take=lambda what, value: words(rule.check(what, value)), stored=str, load=words
    )


def texts(rule: Rule) -> OptionKind:
    """Several texts, each by the rule."""
    return OptionKind(
        wire=list[str],
        rule=rule,
        take=lambda what, values: check_all(rule, what, values),
        stored=str,
        store=lambda values: msgspec.json.encode(values).decode(),
        load=lambda text: msgspec.json.decode(text, type=list[str]),
        typed=Typed.TEXTS,
    )


def _policy_text(policy: RetryPolicy | None) -> str | None:
    """A retry policy as it is stored with a queue or a watch."""
    return None if policy is None else msgspec.json.encode(policy).decode()


def policy_in(text: str | None) -> RetryPolicy | None:
    """The retry policy in such a text."""
    return None if text is None else _POLICY.decode(text)


def _arguments(what: str, value: object) -> str:
    given = dict(check_arguments(value))
    try:
        return msgspec.json.encode(given).decode()
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidPayload(f"{PAYLOAD} is not JSON: {error}") from None


def _rate(what: str, value: str | tuple[int, Duration]) -> tuple[int, Millis]:
    rate = make_rate(what, *value) if isinstance(value, tuple) and len(value) == 2 else parse_rate(value, what)
    return rate.limit, rate.window_ms


RATE = OptionKind(wire=Rate, take=_rate, fields={"rate_limit": number(STARTS), "rate_window_ms": period(WINDOW)})
POLICY = OptionKind(
    wire=RetryPolicy,
    take=retry_option.check_policy,
    stored=str,
    store=_policy_text,
    load=policy_in,
    typed=Typed.NUMBER,
)
ARGUMENTS = OptionKind(wire=str, take=_arguments, typed=Typed.OBJECT)
IS_GIT = OptionKind(
    wire=str,
    rule=one_of(Literal["folder", "git"]),
    take=lambda what, value: "git" if FLAG.check(what, value) else "folder",
    typed=Typed.FLAG,
)
