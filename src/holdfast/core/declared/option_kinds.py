"""The kinds of values that options have: how each is checked, sent and stored."""

from collections.abc import Iterable
from typing import Any, Literal, Protocol, TypeAlias

from holdfast.core.declared.option import OptionKind, Typed
from holdfast.core.errors import InvalidInput
from holdfast.core.job import Millis
from holdfast.core.rules import limits, rule, value_rules
from holdfast.core.rules.tokens import KINDS, Tokens
from holdfast.core.values import variables
from holdfast.core.values.event import check_attributes
from holdfast.core.values.group import Dependency, Needs
from holdfast.core.values.retry import RetryMode, RetryPolicy
from holdfast.core.values.retry_option import Retry
from holdfast.core.values.subject import check_pattern_of_subject


class HasId(Protocol):
    """A handle: anything with the id of a job or a group."""

    @property
    def id(self) -> str: ...


JobRef: TypeAlias = HasId | str


def check_tokens(what: str, value: object) -> Tokens:
    """Check a number of tokens of each kind."""
    return Tokens(**value_rules.TOKENS.check(what, value))


def id_of(ref: JobRef) -> str:
    """The id in a handle, or the id itself."""
    found = ref if isinstance(ref, str) else getattr(ref, "id", None)
    if not isinstance(found, str):
        raise InvalidInput(f"{limits.shown(ref)} is not a job or group: give a handle or an id")
    return value_rules.LABEL.check("id", found)


def jobs_that(needs: Needs) -> OptionKind:
    """Dependencies on these jobs."""

    def take(what: str, value: Any) -> tuple[Dependency, ...]:
        several = isinstance(value, Iterable) and not isinstance(value, str)
        refs: list[Any] = list(value) if several else [value]
        return tuple(Dependency(id_of(ref), needs) for ref in refs)

    return OptionKind(wire=tuple[Dependency, ...], take=take, empty=(), typed=Typed.JOBS)


def _policy_columns(policy: RetryPolicy) -> tuple[Any, ...]:
    return (policy.mode, policy.retries, policy.infra, policy.initial_ms, policy.factor, policy.cap_ms)


def policy_in_columns(columns: tuple[Any, ...]) -> RetryPolicy:
    """The retry policy in the columns of `RETRY`."""
    mode, retries, infra, initial_ms, factor, cap_ms = columns
    return RetryPolicy(retries, initial_ms, factor, cap_ms, RetryMode(mode), infra)


def _token_columns(tokens: Tokens) -> tuple[int, int, int]:
    return tokens.cpu, tokens.gpu, tokens.io


Execution: TypeAlias = Literal["in_process", "subprocess"]

NAME = OptionKind(wire=str, rule=value_rules.NAME)
EXECUTION = OptionKind(
    wire=str,
    rule=rule.one_of(Execution),
    store=str.upper,
    load=str.lower,
)
LABEL = OptionKind(wire=str, rule=value_rules.LABEL)
NODE = OptionKind(wire=str, rule=value_rules.LABEL, stored=int)  # Its number is stored.
SUBJECT = OptionKind(wire=str, rule=value_rules.SUBJECT, take=check_pattern_of_subject, typed=Typed.SUBJECT)
PRIORITY = OptionKind(wire=int, rule=value_rules.PRIORITY, typed=Typed.NUMBER)
GENERATION = OptionKind(wire=int, rule=value_rules.GENERATION, typed=Typed.NUMBER)
DURATION = OptionKind(wire=Millis, rule=value_rules.DURATION, take=value_rules.DURATION.millis, typed=Typed.DURATION)
TIMEOUT = OptionKind(wire=Millis, rule=value_rules.SPAN, take=value_rules.SPAN.millis, typed=Typed.DURATION)
MOMENT = OptionKind(wire=Millis, rule=value_rules.MOMENT, take=value_rules.MOMENT.millis, typed=Typed.MOMENT)
FLAG = OptionKind(wire=bool, take=value_rules.FLAG.check, stored=int, store=int, load=bool, typed=Typed.FLAG)
EVENT = OptionKind(wire=str, rule=value_rules.PATTERN)
ATTRIBUTES = OptionKind(
    wire=dict[str, str],
    rule=value_rules.ATTRIBUTES,
    take=lambda what, value: check_attributes(value, what),
    empty={},
    typed=Typed.PAIRS,
)
VARIABLES = OptionKind(
    wire=dict[str, str],
    rule=value_rules.VARIABLES,
    take=variables.check_variables,
    stored=str,
    store=variables.to_column,
    load=variables.from_column,
    is_long=True,
    typed=Typed.VARIABLES,
)
GROUP = OptionKind(wire=str, rule=value_rules.LABEL, take=lambda what, value: id_of(value), typed=Typed.GROUP)
RETRY = OptionKind(
    wire=RetryPolicy,
    take=lambda what, value: Retry.of(value, what).policy,
    columns={
        "retry_mode": str,
        "max_retries": int,
        "max_infra": int,
        "backoff_initial_ms": int,
        "backoff_factor": float,
        "backoff_cap_ms": int,
    },
    store=_policy_columns,
    load=policy_in_columns,
    typed=Typed.NUMBER,
)
TOKENS = OptionKind(
    wire=Tokens,
    rule=value_rules.TOKENS,
    take=check_tokens,
    columns=dict.fromkeys(KINDS, int),
    store=_token_columns,
    load=lambda found: Tokens(*found),
    typed=Typed.COUNTS,
)
