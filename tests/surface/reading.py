"""Reads what users hold on to: public names and signatures, fields of the HTTP API, words of the command line.

`python -m tests.surface.reading > tests/surface/promised.txt` writes it down. The file only grows.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator
from typing import Any, get_args, is_typeddict

import click
import msgspec

import holdfast
import holdfast.testing
from holdfast.api.description import describe
from holdfast.cli.app import WHERE, load
from holdfast.wire.calls import CALLS

Surface = dict[str, set[str]]  # names by the place where they stand

METHODS = ("get", "put", "post", "delete")


def surface() -> Surface:
    """All of it."""
    return {place: set(names) for place, names in (*_python(), *_http(), *_command_line())}


def read(text: str) -> Surface:
    """A surface that was written down."""
    lines = (line.partition(": ") for line in text.splitlines())
    return {place: set(names.split()) for place, _, names in lines}


def written(found: Surface) -> str:
    """One place a line."""
    return "".join(f"{place}: {' '.join(sorted(names))}\n" for place, names in sorted(found.items()))


def missing(promised: Surface, there: Surface) -> list[str]:
    """What was promised and is not there any more."""
    return [f"{place}: {name}" for place, names in promised.items() for name in sorted(names - there.get(place, set()))]


def _python() -> Iterator[tuple[str, Iterable[str]]]:
    """Every public name; of a class, its methods and fields; of a function, its parameters."""
    for module in (holdfast, holdfast.testing):
        yield f"python {module.__name__}", module.__all__
        for name in module.__all__:
            place, meant = f"python {module.__name__}.{name}", getattr(module, name)
            if inspect.isclass(meant):
                yield from _class(place, meant)
            elif inspect.isfunction(meant):
                yield place, _parameters(meant)


def _class(place: str, meant: type) -> Iterator[tuple[str, Iterable[str]]]:
    names = {*getattr(meant, "__struct_fields__", ()), *(name for name in dir(meant) if not name.startswith("_"))}
    yield place, names
    if "__init__" in vars(meant) and not issubclass(meant, msgspec.Struct | BaseException):
        names.add("__init__")
    for name in names:
        member = inspect.getattr_static(meant, name)
        function = member.__func__ if isinstance(member, classmethod | staticmethod) else member
        if inspect.isfunction(function):
            yield f"{place}.{name}", _parameters(function)


def _parameters(function: Any) -> Iterator[str]:
    """`**options: Unpack[Shared]` stands for the names of `Shared`."""
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is not parameter.VAR_KEYWORD:
            yield parameter.name
            continue
        hint = eval(parameter.annotation, function.__globals__)
        yield from (name for shared in get_args(hint) if is_typeddict(shared) for name in shared.__annotations__)


def _http() -> Iterator[tuple[str, Iterable[str]]]:
    """Every call with its parameters, fields and answers, and every shape with its fields."""
    description = describe(CALLS)
    for path, item in description["paths"].items():
        for method in METHODS:
            if method in item:
                yield from _call(f"http {method.upper()} {path}", item[method])
    for name, shape in description["components"]["schemas"].items():
        yield f"http {name}", shape.get("properties", ())


def _call(place: str, operation: dict[str, Any]) -> Iterator[tuple[str, Iterable[str]]]:
    yield f"{place} parameters", [parameter["name"] for parameter in operation.get("parameters", ())]
    content = operation.get("requestBody", {}).get("content", {})
    yield f"{place} body", [name for media in content.values() for name in media["schema"].get("properties", ())]
    yield f"{place} answers", operation["responses"]


def _command_line() -> Iterator[tuple[str, Iterable[str]]]:
    """Every command with its options and arguments."""
    for name in WHERE:
        yield from _words(f"command line {name}", load(name))


def _words(place: str, command: click.Command) -> Iterator[tuple[str, Iterable[str]]]:
    yield place, [word for one in command.params for word in (*one.opts, *one.secondary_opts)]
    if isinstance(command, click.Group):
        for name, inner in command.commands.items():
            yield from _words(f"{place} {name}", inner)


if __name__ == "__main__":
    print(written(surface()), end="")
