"""The changes of a queue: as they are sent, and as a user writes them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Unpack

from msgspec import Struct

from holdfast.core.declared.setting import Setting
from holdfast.core.errors import InvalidInput
from holdfast.core.rules import limits
from holdfast.core.rules.rule import ChoiceRule
from holdfast.core.rules.value_rules import CONCURRENCY
from holdfast.core.settings import queue_settings
from holdfast.core.settings.queue_settings import CLEARABLE, SETTINGS, QueueSettings, change_fields

_ENUM: Any = StrEnum  # A type checker knows only those whose members are written down.
QueueSetting = _ENUM("QueueSetting", {one.cleared_as.upper(): one.cleared_as for one in CLEARABLE}, module=__name__)
QueueSetting.__doc__ = "What can be set back to its default."


@change_fields
class QueueChanges(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The changes of a queue. None leaves a setting as it is, and `clear` names those that get their default back.

    `retry` and `timeout_ms` are for jobs that say nothing themselves. A rate has both a limit and a window.
    Without a `retry`, `preset` stands for one: `cleanup` for one try more, `indexing` for 5, 1 s to 5 min apart.
    After `breaker` infra failures in a row nothing of the queue starts for `breaker_for_ms`; 0: there is no breaker.
    """

    clear: tuple[str, ...] = ()  # Each one of `QueueSetting`.

    if TYPE_CHECKING:  # Its other fields are the settings, which are declared once, in `queue_settings`.

        def __init__(self, **fields: Any) -> None: ...
        def __getattr__(self, name: str) -> Any: ...


def make_changes(**settings: Unpack[QueueSettings]) -> QueueChanges:
    """The changes, from the arguments of `set_queue`. InvalidInput names what does not fit."""
    said: dict[str, Any] = {**settings}
    clear = said.pop("clear", ())
    unknown = sorted(said.keys() - SETTINGS.keys())
    if unknown:
        raise TypeError(f"{unknown[0]!r} is not a setting of a queue; use {', '.join(SETTINGS)}")
    cleared = [_clearable(name) for name in ([clear] if isinstance(clear, str) else clear)]
    clear = tuple(QueueSetting(setting.cleared_as) for setting in cleared)
    refuse_set_and_cleared(
        clear, lambda field: said.get(_OF_FIELD[field].name), lambda field: _OF_FIELD[field].key.name
    )
    changes: dict[str, Any] = {}
    for name, value in said.items():
        if value is not None:
            changes |= SETTINGS[name].taken(value)
    return QueueChanges(**changes, clear=clear)


_OF_FIELD = {field: setting for setting in SETTINGS.values() for field in setting.fields}
_CLEARED = {
    one.cleared_as: [field for each in queue_settings.cleared_by(one) for field in each.fields] for one in CLEARABLE
}


def refuse_set_and_cleared(
    clear: Iterable[str], value_of: Callable[[str], Any], word_of: Callable[[str], str] = str
) -> None:
    """Refuse a setting that is both set and cleared, with the caller's word for the field."""
    for setting in clear:
        for field in _CLEARED[setting]:
            value = value_of(field)
            if value is not None:
                raise InvalidInput(
                    f"{word_of(field)} is to be set to {limits.shown(value)} and to be cleared; say one of them"
                )


def _names(setting: Setting) -> list[str]:
    """Its names: of the argument, of the key in a file, of the word on the command line."""
    return [setting.name, setting.key.name, *(word.strip("-").replace("-", "_") for word in setting.word.names)]


_CALLED = {name: setting for setting in CLEARABLE for one in queue_settings.cleared_by(setting) for name in _names(one)}


def _clearable(name: str) -> Setting:
    found = _CALLED.get(name.replace("-", "_")) if isinstance(name, str) else None
    if found is None:
        raise ChoiceRule(setting.key.name for setting in CLEARABLE).refusal("clear", name)
    return found


def check_limit(what: str, value: int | None) -> int | None:
    """How many jobs may run at once; None: no limit."""
    return None if value is None else CONCURRENCY.check(what, value)
