"""A table of `holdfast.toml` that holds declared settings: its keys, and what each value means."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any

from holdfast.core.declared.option import Typed
from holdfast.core.declared.setting import Setting
from holdfast.core.errors import InvalidInput, InvalidPayload
from holdfast.core.rules import rule, value_rules
from holdfast.core.rules.tokens import Tokens
from holdfast.core.settings.rule_table import RULES
from holdfast.core.values import rate
from holdfast.core.values.payload import check_arguments
from holdfast.core.values.retry import RetryPolicy
from holdfast.core.values.retry_option import MODE, Retry
from holdfast.daemon.settings import kinds
from holdfast.daemon.settings.kinds import FLAG, Says, SettingKind

_RETRY: Mapping[str, SettingKind] = {
    "retries": kinds.by_rule("retries"),
    "initial": kinds.by_rule("initial_ms"),
    "factor": kinds.by_rule("factor"),
    "cap": kinds.by_rule("cap_ms"),
    "mode": kinds.one_of(*MODE.words),
    "infra": kinds.by_rule("infra"),
}


def _retry(what: str, value: Any) -> Retry:
    if isinstance(value, dict) and "retries" in value and value.keys() <= _RETRY.keys():
        given = {key: _RETRY[key].read(f"{what.removesuffix(' =')}.{key} =", item) for key, item in value.items()}
        return Retry(given.pop("retries"), **given)
    if not RULES["retries"].allows(value):
        raise rule.refusal(what, value, RETRY.allowed)
    return Retry(value)


def _tokens(what: str, value: Any) -> dict[str, int]:
    if not value_rules.TOKENS.allows(value):
        raise value_rules.TOKENS.refusal(what, value, TOKENS.allowed)
    return value_rules.TOKENS.check(what.removesuffix(" ="), value)


def _arguments(example: str) -> SettingKind:
    def read(what: str, value: Any) -> Mapping[str, Any]:
        try:
            return check_arguments(value, what.removesuffix(" ="))
        except InvalidPayload as error:
            raise InvalidPayload(f"{error}, in {allowed}") from None

    allowed = f"a table such as {example}"
    return SettingKind(allowed, read)


RETRY = SettingKind(f'{RULES["retries"].says}, or a table such as {{ retries = 5, initial = "2s" }}', _retry)
RATE = SettingKind(rate.SAYS, lambda what, value: str(rate.parse_rate(value, what)))
TOKENS = SettingKind(f"{value_rules.TOKENS.says}, in a table such as {{ cpu = 2 }}", _tokens)
_WRITTEN: Mapping[Any, SettingKind] = {
    rate.Rate: RATE,
    RetryPolicy: RETRY,
    Tokens: TOKENS,
    bool: FLAG,
}


def _kind(setting: Setting) -> SettingKind:
    """How a setting is written in a file."""
    one = setting.kind
    if one.wire in _WRITTEN:
        return _WRITTEN[one.wire]
    if one.typed is Typed.OBJECT:
        return _arguments(setting.key.example)
    if one.typed is Typed.TEXTS:
        return SettingKind(rule.TEXTS, one.check)
    assert one.rule is not None, f"{setting.name} has no rule: say above how it is written"
    return kinds.within(one.rule)


def keys_of(settings: Mapping[str, Setting]) -> dict[str, Says]:
    """The keys of these settings in the file, what they are about, and how they are written."""
    return {setting.key.name: Says(setting.help, _kind(setting), setting.key.example) for setting in settings.values()}


def read_table(table: Mapping[str, Any], keys: Mapping[str, Says], where: str, who: str) -> dict[str, Any]:
    """The values of a table. InvalidInput names the key and, if it is not known, which ones there are."""
    values: dict[str, Any] = {}
    for key, value in table.items():
        if key not in keys:
            close = difflib.get_close_matches(key, keys, 1)
            hint = f"did you mean {close[0]}? " if close else ""
            raise InvalidInput(f"{where}{key} is not known: {hint}{who} has {', '.join(keys)}")
        values[key] = keys[key].kind.read(f"{where}{key} =", value)
    return values
