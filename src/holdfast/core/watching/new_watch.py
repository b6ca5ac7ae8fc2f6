"""A watch that is to be stored: as it travels, and from what a user writes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from holdfast.core.declared.setting import setting_fields
from holdfast.core.errors import InvalidInput
from holdfast.core.rules import limits
from holdfast.core.rules.rule import check_all
from holdfast.core.settings import rule_table
from holdfast.core.settings.watch_settings import SETTINGS
from holdfast.core.tasks.reserved import refuse_reserved
from holdfast.core.values.payload import read_payload
from holdfast.core.values.watch import PATHS, WatchKind, check_fields


@setting_fields(SETTINGS)
class NewWatch(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A watch to be stored. Without a task it makes no jobs and only emits events; an empty payload means the usual.

    `debounce_ms`: how long it must be quiet before a look; `max_wait_ms`: how long changes wait at most, however
    constant their stream is. None leaves it to the daemon's settings, and what concerns its jobs to their task.
    `settle_ms`: how long a file must have stopped changing.
    """

    id: str
    name: str
    path: str

    if TYPE_CHECKING:  # Its other fields are the settings, which are declared once, in `watch_settings`.

        def __init__(self, **fields: Any) -> None: ...
        def __getattr__(self, name: str) -> Any: ...


def make_watch(watch_id: str, path: str, options: Mapping[str, Any]) -> NewWatch:
    """The watch that these options mean, checked; `path` is absolute."""
    unknown = sorted(options.keys() - SETTINGS.keys())
    if unknown:
        raise InvalidInput(f"{unknown[0]!r} is not an option of a watch; use {', '.join(SETTINGS)}")
    given: dict[str, Any] = {}
    for name, value in options.items():
        if value is not None:
            given |= SETTINGS[name].taken(value, name)
    return check_watch(NewWatch(id=watch_id, path=path, **given))


def check_watch(watch: NewWatch) -> NewWatch:
    """Refuse a watch that cannot work, with what is wrong about it."""
    rule_table.check("NewWatch.path", watch.path, "path")
    for setting in SETTINGS.values():
        value, rule = getattr(watch, setting.wire), setting.kind.rule
        if rule is None or value is None:
            continue
        if isinstance(value, list | tuple):
            check_all(rule, setting.wire, value)
        else:
            rule.check(setting.wire, value)
    refuse_reserved(watch.task, watch.queue)
    if watch.kind == WatchKind.GIT and (watch.globs or watch.ignores):
        raise InvalidInput("a watch of a git repository has no globs or ignores; watch the folder for changes of files")
    if watch.kind == WatchKind.GIT and watch.settle_ms:
        raise InvalidInput("a watch of a git repository has no settle: it looks at commits, not at files")
    check_fields("subject", watch.subject or "", watch.kind, without={PATHS})
    _check_payload(watch)
    return watch


def _check_payload(watch: NewWatch) -> None:
    texts = list(_texts(read_payload(watch.payload.encode("utf-8", "surrogatepass"))))
    for text in texts:
        check_fields("payload", text, watch.kind, without=set() if text == f"{{{PATHS}}}" else {PATHS})
    if texts.count(f"{{{PATHS}}}") > 1:
        raise InvalidInput(
            f"payload {limits.shown(watch.payload)} names 'paths' twice; the list may be long, so name it once"
        )


def _texts(value: Any) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
