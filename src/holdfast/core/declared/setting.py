"""What the declaration of a setting can say. The settings are in `queue_settings` and `watch_settings`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from msgspec import Struct, structs

from holdfast.core.declared.option import OptionKind, SaidIn, Word
from holdfast.core.declared.option_fields import extended
from holdfast.core.declared.options import OPTIONS

T = TypeVar("T", bound=Struct)


class Key(Struct, frozen=True, kw_only=True):
    """A setting in a table of `holdfast.toml`, with a value as it is written there.

    Without a `name` it is called as in programs.
    """

    example: str
    name: str = ""


class Setting(Struct, frozen=True, kw_only=True):
    """One thing that can be set for a queue or a watch.

    `wire` is its field in requests and answers, and `column` its column, if they have other names. "" means no column.
    `default` is what a queue or a watch has if it is not set.
    A request that sets it back names it `cleared_as`. One with `cleared_with` is set back together with the setting of
    that name, never alone. `label` is what people see before its value.
    """

    kind: OptionKind
    help: str
    key: Key
    word: Word
    wire: str = ""
    column: str | None = None
    default: Any = None
    cleared_as: str = ""
    cleared_with: str = ""
    label: str = ""
    name: str = ""

    @property
    def fields(self) -> Mapping[str, OptionKind]:
        """Its fields in a request."""
        return self.kind.fields or {self.wire: self.kind}

    @property
    def columns(self) -> Mapping[str, Mapping[str, type]]:
        """Where each of its fields is stored, and as what."""
        if self.column == "":
            return {}
        return {
            field: kind.columns or {self.column or field: kind.stored or kind.wire}
            for field, kind in self.fields.items()
        }

    def taken(self, value: Any, what: str = "") -> Mapping[str, Any]:
        """What is sent for a value that a program gave. InvalidInput if it is not allowed."""
        made = self.kind.check(what or self.key.name, value)
        return dict(zip(self.fields, made if self.kind.fields else (made,), strict=True))


def option_of_jobs(said: SaidIn, name: str, example: str, **more: Any) -> Setting:
    """A setting that is an option of the jobs. It is as `options` declares it, but for what is said here."""
    option = OPTIONS[name]
    assert said in option.said, f"{name} may not be said in a {said.name}; see its declaration"
    assert option.word is not None, f"{name} has no word on the command line; give it one"
    same = Setting(
        kind=option.kind,
        help=option.help,
        wire=option.wire,
        label=option.label,
        word=option.word,
        key=Key(example=example),
    )
    return structs.replace(same, **more)


def declared_in(declaration: Any) -> Mapping[str, Setting]:
    """The settings that a TypedDict declares, by name."""
    found = {}
    for name, hint in declaration.__annotations__.items():
        for setting in getattr(hint, "__metadata__", ()):
            found[name] = structs.replace(
                setting,
                name=name,
                wire=setting.wire or name,
                key=structs.replace(setting.key, name=setting.key.name or name),
                cleared_as=setting.cleared_as or name,
            )
    return found


def setting_fields(settings: Mapping[str, Setting]) -> Callable[[type[T]], type[T]]:
    """A struct that has a field for every setting that is stored, with its default.

    Fields that the class names itself keep the types that it gives them.
    """

    def extend(kind: type[T]) -> type[T]:
        fields = []
        for setting in settings.values():
            for name in setting.columns:
                wire = setting.fields[name].wire
                fields.append((name, wire | None if setting.default is None else wire, setting.default))
        return extended(kind, fields)

    return extend
