"""Every regular expression of the package, how it is used, and texts made of what it looks for."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import permutations
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import holdfast
from holdfast.core.rules import text_rules
from holdfast.core.rules.text_rules import Text
from holdfast.core.settings import rule_table as rules

# Python's own parser of expressions, which has no types.
tokens: Any = importlib.import_module("re._constants")
parser: Any = importlib.import_module("re._parser")

PACKAGE = Path(holdfast.__file__).parent
MOST_ATOMS = 10
ONCE = {"match", "fullmatch"}
USES = ONCE | {"search", "sub", "subn", "split", "findall", "finditer"}
USED = re.compile(rf"(?<![\w.])(\w+)\.({'|'.join(sorted(USES))})\b")


class Use(NamedTuple):
    """A pattern, and whether it is tried once or at every place of a text."""

    module: str
    constant: str
    pattern: re.Pattern[Any]
    method: str

    @property
    def name(self) -> str:
        """Where it stands and how it is used."""
        return f"{self.module}.{self.constant}.{self.method}"

    def run(self, text: str) -> None:
        subject = text.encode("utf-8", "replace") if isinstance(self.pattern.pattern, bytes) else text
        if self.method in ONCE:
            getattr(self.pattern, self.method)(subject)
        else:
            for _ in self.pattern.finditer(subject):
                pass


@cache
def uses() -> list[Use]:
    """Every pattern of the package with every method that is called on it."""
    found: dict[str, Use] = {}
    sources = {path: path.read_text("utf-8") for path in sorted(PACKAGE.rglob("*.py"))}
    called = _called(sources.values())
    for path, source in sources.items():
        if "re.compile(" in source:
            module = _module(path)
            for name, value in vars(module).items():
                for number, pattern in enumerate(_in(value)):
                    methods = called.get(name) or {"search"}
                    for method in sorted({use if use in ONCE else "search" for use in methods}):
                        use = Use(module.__name__, f"{name}[{number}]", pattern, method)
                        found[use.name] = use
    for field, one in rules.RULES.items():
        for text in (one, one.keys):
            if isinstance(text, Text):
                found[text.pattern] = Use(rules.__name__, field, re.compile(text.pattern), "search")
    return list(found.values())


def hidden() -> list[str]:
    """Where a pattern is written that is no constant of its module, so that `uses` does not see it."""
    found = []
    # A rule compiles its own pattern, and the table of rules has them all.
    for path in sorted({*PACKAGE.rglob("*.py")} - {Path(text_rules.__file__)}):
        tree = ast.parse(path.read_text("utf-8"))
        constants = {
            id(node) for statement in tree.body if isinstance(statement, ast.Assign) for node in ast.walk(statement)
        }
        for node in ast.walk(tree):
            match node:
                case ast.Call(func=ast.Attribute(value=ast.Name("re"), attr=called)) if called in USES | {"compile"}:
                    if called != "compile" or id(node) not in constants:
                        found.append(f"{path.relative_to(PACKAGE)}:{node.lineno}")
    return found


def texts(pattern: re.Pattern[Any]) -> Iterator[tuple[str, str, str]]:
    """Texts that the pattern nearly matches: what stands first, what is repeated, what stands last."""
    atoms = list(dict.fromkeys(_atoms(pattern)))[:MOST_ATOMS]
    for atom in atoms:
        yield "", atom, ""
    for one, other in permutations(atoms, 2):
        yield "", one + other, ""
        yield one, other, ""
        yield one, other, one
        yield "", one, other


def _module(path: Path) -> ModuleType:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return importlib.import_module(".".join(part for part in parts if part != "__init__"))


def _in(value: object) -> Iterator[re.Pattern[Any]]:
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, tuple | list | frozenset | dict):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _in(item)


def _called(sources: Iterable[str]) -> dict[str, set[str]]:
    """The methods that are called on a name, wherever it is imported to. Found by text: parsing takes seconds."""
    found: dict[str, set[str]] = {}
    for source in sources:
        for name, method in USED.findall(source):
            found.setdefault(name, set()).add(method)
    return found


def _atoms(pattern: re.Pattern[Any]) -> Iterator[str]:
    tree = parser.parse(pattern.pattern, pattern.flags)
    yield from _words(tree)
    yield from _letters(tree)


def _words(tree: Any) -> Iterator[str]:
    """Letters that stand side by side."""
    word = ""
    for kind, value in tree:
        if kind is tokens.LITERAL:
            word += chr(value)
            continue
        if len(word) > 1:
            yield word
        word = ""
        for inner in _inside(value):
            yield from _words(inner)
    if len(word) > 1:
        yield word


def _letters(tree: Any) -> Iterator[str]:
    for kind, value in tree:
        match kind:
            case tokens.LITERAL:
                yield chr(value)
            case tokens.NOT_LITERAL | tokens.ANY:
                yield "x"
            case tokens.IN:
                yield from _of_set(value)
            case _:
                for inner in _inside(value):
                    yield from _letters(inner)


def _of_set(members: Any) -> Iterator[str]:
    for kind, value in members:
        match kind:
            case tokens.LITERAL:
                yield chr(value)
            case tokens.RANGE:
                yield chr(value[0])
            case tokens.CATEGORY:
                yield {"DIGIT": "0", "SPACE": " ", "WORD": "a"}.get(str(value).rpartition("_")[2], "-")
            case tokens.NEGATE:
                yield "x"


def _inside(value: Any) -> Iterator[Any]:
    if isinstance(value, parser.SubPattern):
        yield value
    elif isinstance(value, tuple | list):
        for item in value:
            yield from _inside(item)
