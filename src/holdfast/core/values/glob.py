"""Patterns for paths: `*` and `?` within a name, `**` over any number of folders, `[a-z]` for one character.

They mean the same as in a `.gitignore`. The matching goes back only to the last star. So it never takes more steps than
the product of the lengths of pattern and path.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from typing import Final

from holdfast.core.rules.text_rules import CheckedText
from holdfast.core.rules.value_rules import IGNORE
from holdfast.core.values.glob_brackets import BracketReader

_SPECIAL = "*?[\\"


class _EveryCharacter(Container[str]):
    def __contains__(self, character: object) -> bool:
        return True


_EVERY: Final = _EveryCharacter()
_STAR: Final = None  # among characters `*`, among names `**`: any number of them


class Name(Container[str]):
    """One name of a pattern, which stands for names of paths."""

    __slots__ = ("_head", "_least", "_tail", "_units")

    def __init__(self, units: Sequence[Container[str] | None]) -> None:
        special = [place for place, unit in enumerate(units) if not isinstance(unit, str)]
        first, behind = (special[0], special[-1] + 1) if special else (len(units), len(units))
        self._head = "".join(map(str, units[:first]))
        self._tail = "".join(map(str, units[behind:]))
        self._units = tuple(units[first:behind])
        self._least = sum(unit is not _STAR for unit in units)

    def __contains__(self, name: object) -> bool:
        assert isinstance(name, str)
        if not self._units:
            return name == self._head
        if len(name) < self._least or not name.startswith(self._head) or not name.endswith(self._tail):
            return False
        return self._units == (_STAR,) or _walk(self._units, name[len(self._head) : len(name) - len(self._tail)])


class Pattern:
    """One pattern. Without a slash it means any file or folder of that name, at any depth; otherwise the whole path.

    `flaw` says what is wrong with it. git ignores such a pattern silently.
    """

    __slots__ = ("_head", "_names", "_only", "flaw", "plain_name")

    def __init__(self, text: str) -> None:
        is_of_name = "/" not in text
        text = text.removeprefix("/")
        plain = next((place for place, character in enumerate(text) if character in _SPECIAL), len(text))
        self.plain_name = text if is_of_name and plain == len(text) else None
        # git compares what stands before the first special character by itself, so "a**/b" means "a", and then "**/b".
        self._head = None if is_of_name else text[:plain]
        reader = _Reader(text if is_of_name else text[plain:], has_folders=not is_of_name)
        self._names: list[Name | None] = reader.read()
        self._only = self._names[0] if is_of_name and self._names else None
        self.flaw = reader.flaw

    def matches(self, path: str, name: str) -> bool:
        """Whether it means a path, the last part of which is `name`."""
        if self._head is None:
            return self._only is not None and name in self._only
        return path.startswith(self._head) and _walk(self._names, path[len(self._head) :].split("/"))


class _Reader:
    """Parses a pattern into names. There are none if it can match nothing."""

    def __init__(self, text: str, *, has_folders: bool) -> None:
        self._text = text
        self._has_folders = has_folders
        self._brackets = BracketReader(text)
        self._names: list[Name | None] = []
        self._units: list[Container[str] | None] = []
        self.flaw: str | None = None

    def read(self) -> list[Name | None]:
        place = 0
        try:
            while place < len(self._text):
                place = self._step(place)
        except ValueError as error:
            self.flaw = str(error)
            return []
        self._end_name()
        self.flaw = self._brackets.backwards
        return self._names

    def _step(self, place: int) -> int:
        """Read one unit at a place. Return the next place."""
        match self._text[place]:
            case "*":
                return self._star(place)
            case "[":
                characters, place = self._brackets.read(place)
                self._units.append(characters)
                return place
            case "?":
                self._units.append(_EVERY)
                return place + 1
            case "\\":
                place += 1
                if place == len(self._text):
                    raise ValueError("it ends in a single \\; write \\\\ for the character")
        self._character(self._text[place])
        return place + 1

    def _character(self, character: str) -> None:
        if character == "/":
            self._end_name()
        else:
            self._units.append(character)

    def _star(self, place: int) -> int:
        text = self._text
        behind = next((at for at in range(place, len(text)) if text[at] != "*"), len(text))
        is_whole_name = place == 0 or text[place - 1] == "/"
        if self._has_folders and behind - place > 1 and is_whole_name:
            if text.startswith("/", behind):
                self._names.append(_STAR)
                return behind + 1
            if behind == len(text) or text.startswith("\\/", behind):
                # Here `**` stands for at least one folder.
                self._names.append(_STAR)
        if not self._units or self._units[-1] is not _STAR:
            self._units.append(_STAR)
        return behind

    def _end_name(self) -> None:
        self._names.append(Name(self._units))
        self._units = []


def _flaw(glob: str) -> str | None:
    if glob.startswith(("/", "./")) or ".." in glob.split("/") or glob.endswith("/"):
        return "it begins or ends with a /, or leads out of the folder"
    return Pattern(glob).flaw


GLOB = CheckedText(f"{IGNORE.says}, as seen from the folder, such as 'src/**/*.py'", IGNORE, _flaw)


def matcher(globs: Iterable[str]) -> Callable[[str], bool]:
    """A function that says whether one of the patterns means a path. Without patterns, all paths are meant."""
    patterns = [Pattern(glob) for glob in globs]
    if not patterns:
        return lambda path: True

    def is_meant(path: str) -> bool:
        name = path[path.rfind("/") + 1 :]
        return any(pattern.matches(path, name) for pattern in patterns)

    return is_meant


def _walk(units: Sequence[Container[str] | None], items: Sequence[str]) -> bool:
    """Whether the units stand for the items: characters of a name, or names of a path."""
    place = at = 0
    star, begin = -1, 0  # the last star, and up to where it was last tried to reach
    while at < len(items):
        if place < len(units):
            unit = units[place]
            if unit is _STAR:
                star, begin = place, at
                place += 1
                continue
            if items[at] in unit:
                place += 1
                at += 1
                continue
        if star < 0:
            return False
        begin += 1
        place, at = star + 1, begin
    return all(unit is _STAR for unit in units[place:])
