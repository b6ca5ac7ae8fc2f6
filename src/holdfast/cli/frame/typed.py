"""How values are typed on the command line and shown there, by the kind of each."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Any

from holdfast.cli.frame import completion, times
from holdfast.cli.frame.words import Option
from holdfast.core.declared.option import JobOption, Typed, Word
from holdfast.core.declared.setting import Setting
from holdfast.core.errors import InvalidInput
from holdfast.core.rules import limits
from holdfast.core.rules.tokens import KINDS
from holdfast.core.rules.value_rules import SUBJECT

if TYPE_CHECKING:
    from holdfast.client.remote import Client

_WHOLE = re.compile(r"-?\d{1,30}", re.ASCII)


def hint_of(said: JobOption | Setting, word: Word, owner: str = "") -> Any:
    """What the command line needs to know of an option or a setting. In the rules its field comes after `owner`."""
    kind = _TYPES.get(said.kind.typed, str)
    complete = None if word.complete is None else getattr(completion, word.complete)
    names, help = word.names or (word_name(said.name, word),), word.help or said.help
    field = word.field or (f"{owner}{said.wire}" if said.kind.typed is Typed.NUMBER else None)
    option = Option(*names, metavar=word.metavar, help=help, field=field, complete=complete)
    return Annotated[kind if kind is bool else kind | None, option]


_TYPES: Mapping[Typed, Any] = {
    Typed.NUMBER: int,
    Typed.FLAG: bool,
    Typed.NO: bool,
    Typed.PAIRS: list[str],
    Typed.VARIABLES: list[str],
    Typed.JOBS: list[str],
    Typed.TEXTS: list[str],
}


def word_name(name: str, word: Word | None) -> str:
    """Its name on the command line."""
    return word.names[0] if word is not None and word.names else f"--{name.replace('_', '-')}"


def text_of(typed: Typed, value: Any) -> str:
    """A value as it is shown."""
    match typed:
        case Typed.DURATION:
            return times.length(value)
        case Typed.MOMENT:
            return times.when(value)
        case Typed.FLAG:
            return "yes" if value else "no"
        case Typed.PAIRS | Typed.VARIABLES:
            return _pairs(value)
        case Typed.TEXTS:
            return ", ".join(value)
    return str(value)


def _pairs(value: Mapping[str, str]) -> str:
    """`NAME=VALUE` words. What looks secret is hidden."""
    from json import dumps

    from holdfast.observe.redact import redacted

    return " ".join(
        f"{name}={text if text.split() == [text] else dumps(text, ensure_ascii=False)}"
        for name, text in redacted(value).items()
    )


def _group(hf: Client, word: str, name: str) -> str:
    from holdfast.cli.frame.given import find_group

    return find_group(hf, name).id


def _object(hf: Client, word: str, text: str) -> dict[str, Any]:
    from holdfast.cli.frame.given import read_object

    return read_object(text)


READERS: Mapping[Typed, Callable[[Client, str, Any], Any]] = {
    Typed.TEXT: lambda hf, word, text: text,
    Typed.NUMBER: lambda hf, word, number: number,
    Typed.FLAG: lambda hf, word, flag: flag,
    Typed.NO: lambda hf, word, flag: not flag,
    # The SDK reads a duration as people write it.
    Typed.DURATION: lambda hf, word, text: text,
    Typed.MOMENT: lambda hf, word, text: times.moment(word.removeprefix("--"), text),
    Typed.COUNTS: lambda hf, word, text: token_counts(word, text),
    Typed.PAIRS: lambda hf, word, texts: attributes(f"{word} ", texts),
    Typed.VARIABLES: lambda hf, word, texts: variables(texts),
    Typed.JOBS: lambda hf, word, refs: [hf.job(ref) for ref in refs],
    Typed.GROUP: _group,
    # A subject of the SDK may name arguments in braces. Here braces mean themselves.
    Typed.SUBJECT: lambda hf, word, text: SUBJECT.check(word, text).replace("{", "{{").replace("}", "}}"),
    Typed.TEXTS: lambda hf, word, texts: texts,
    Typed.OBJECT: _object,
}


def setting_words(settings: Mapping[str, Setting], owner: str) -> dict[str, Any]:
    """What the command line needs to know of each setting. In the rules their fields come after `owner`."""
    return {setting.name: hint_of(setting, setting.word, owner) for setting in settings.values()}


def read_settings(hf: Client, settings: Mapping[str, Setting], said: Mapping[str, Any]) -> dict[str, Any]:
    """The given settings, as the SDK takes them. What was not given is left out."""
    found: dict[str, Any] = {}
    for setting in settings.values():
        value = said[setting.name]
        if value is None or value is False:
            continue
        word = word_name(setting.name, setting.word)
        found[setting.name] = READERS[setting.kind.typed](hf, word, value)
        setting.kind.check(word, found[setting.name])
    return found


def token_counts(word: str, given: str) -> dict[str, Any]:
    """`cpu=2,gpu=1` as a number for each kind. What is no number is refused by its rule."""
    found: dict[str, Any] = {}
    for part in given.split(","):
        kind, is_set, count = part.strip().partition("=")
        if not is_set or kind in found:
            kinds = ", ".join(KINDS)
            raise InvalidInput(f"{word} {limits.shown(given)} is not valid: write KIND=N, each of {kinds} at most once")
        found[kind] = int(count) if _WHOLE.fullmatch(count) else count
    return found


def variables(given: list[str]) -> dict[str, str]:
    """`NAME=VALUE` words as variables; `NAME` alone takes its value from here."""
    import os

    found = {}
    for text in given:
        name, is_set, value = text.partition("=")
        if not is_set and name not in os.environ:
            raise InvalidInput(f"--env {limits.shown(text)}: there is no such variable here; write NAME=VALUE")
        found[name] = value if is_set else os.environ[name]
    return found


def attributes(said_by: str, given: list[str] | None) -> dict[str, str]:
    """`KEY=VALUE` words as attributes of an event."""
    found: dict[str, str] = {}
    for word in given or ():
        name, is_set, value = word.partition("=")
        if not is_set:
            raise InvalidInput(f"{said_by}{limits.shown(word)} is not an attribute: write KEY=VALUE")
        if name in found:
            raise InvalidInput(f"{said_by}{limits.shown(name)} is given twice; an event has one value for each name")
        found[name] = value
    return found
