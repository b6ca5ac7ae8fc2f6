"""The rules of a `.gitignore`: a pattern a line, `!` takes back, a slash at the end means folders alone.

git compares bytes. So in rules and paths here, every letter stands for a byte; see `by_bytes`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import attrgetter

from msgspec import Struct

from holdfast.core.values.glob import Pattern

MOST_LINES = 10_000
MOST_BYTES = 256 << 10
LONGEST_LINE = 4_096  # as long as a path may be
MOST_RULES = 20_000  # in all files of one watch together

_BOM = b"\xef\xbb\xbf"


class IgnoreRule(Struct, frozen=True):
    """One line."""

    pattern: Pattern
    is_taken_back: bool
    is_for_folders: bool


class _Verdict(Struct, frozen=True):
    """What a rule says, and where it stands."""

    place: int
    is_ignored: bool | None


_NONE = _Verdict(-1, None)


class IgnoreRules:
    """Rules in their order. The last one that matches counts.

    `is_cut`: there were more lines than a file may have, or longer ones. `most` is how many rules there is room for,
    and `has_no_room` says that there were more.
    """

    def __init__(self, lines: Iterable[str], is_cut: bool = False, most: int | None = None) -> None:
        self.is_cut = is_cut
        self.has_no_room = False
        self.count = 0
        # Most rules are a plain name, and are looked up instead of tried one by one.
        self._named: dict[str, _Verdict] = {}
        self._named_folders: dict[str, _Verdict] = {}
        self._others: list[tuple[int, IgnoreRule]] = []
        for place, line in enumerate(lines):
            if len(line) > LONGEST_LINE:
                self.is_cut = True
                continue
            rule = parse_rule(line)
            if rule is None:
                continue
            if self.count == most:
                self.has_no_room = True
                break
            self.count += 1
            name = rule.pattern.plain_name
            if name is None:
                self._others.append((place, rule))
            else:
                named = self._named_folders if rule.is_for_folders else self._named
                named[name] = _Verdict(place, not rule.is_taken_back)
        self._others.reverse()

    def verdict(self, path: str, is_folder: bool, interrupt: Callable[[], object] = lambda: None) -> bool | None:
        """Whether a path is ignored. None: no rule matches. `interrupt` may raise between rules, to give up."""
        name = path[path.rfind("/") + 1 :]
        found = self._named.get(name, _NONE)
        if is_folder:
            found = max(found, self._named_folders.get(name, _NONE), key=attrgetter("place"))
        for place, rule in self._others:
            if place < found.place:
                break
            interrupt()
            if (is_folder or not rule.is_for_folders) and rule.pattern.matches(path, name):
                return not rule.is_taken_back
        return found.is_ignored


def rules_of_file(data: bytes, most: int | None = None) -> IgnoreRules:
    """The rules in a file, up to the limits. A cut line does not count."""
    is_cut = len(data) > MOST_BYTES
    lines = data[:MOST_BYTES].removeprefix(_BOM).split(b"\n")
    if is_cut or not lines[-1]:
        lines.pop()
    is_cut = is_cut or len(lines) > MOST_LINES
    return IgnoreRules((line.removesuffix(b"\r").decode("latin-1") for line in lines[:MOST_LINES]), is_cut, most)


def parse_rule(line: str) -> IgnoreRule | None:
    """The rule in a line. None, if it is empty or a comment."""
    line = _without_spaces(line.partition("\0")[0])
    if line.startswith("#"):
        return None
    is_taken_back = line.startswith("!")
    text = line[is_taken_back:]
    is_for_folders = text.endswith("/")
    text = text[: len(text) - is_for_folders]
    return IgnoreRule(Pattern(text), is_taken_back, is_for_folders) if text else None


def by_bytes(text: str) -> str:
    """A rule or the path of a file as letters that stand for bytes."""
    return text if text.isascii() else text.encode("utf-8", "surrogateescape").decode("latin-1")


def _without_spaces(line: str) -> str:
    """The line without spaces at its end. A backslash keeps the space after it."""
    text = line.rstrip(" ")
    backslashes = len(text) - len(text.rstrip("\\"))
    return f"{text} " if text != line and backslashes % 2 else text
