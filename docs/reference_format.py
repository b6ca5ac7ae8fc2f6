"""How signatures, docstrings and tables look on a page of the reference. Knows nothing of what stands on which page."""

import inspect
import re
from collections.abc import Callable, Iterable
from enum import Enum
from typing import Any


def table(heads: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [heads, tuple("---" for _ in heads), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def call_of(function: Callable[..., Any], name: str) -> str:
    """`name(a: int, *, b: str = 'x') -> int`, without self and without the addresses of default functions."""
    signature = inspect.signature(function)
    texts: list[str] = []
    for parameter in signature.parameters.values():
        if parameter.name == "self":
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and "*" not in texts:
            texts.append("*")
        star = (
            "*"
            if parameter.kind is parameter.VAR_POSITIONAL
            else "**"
            if parameter.kind is parameter.VAR_KEYWORD
            else ""
        )
        hint = "" if parameter.annotation is parameter.empty else f": {plain(parameter.annotation)}"
        default = "" if parameter.default is parameter.empty else f" = {shown(parameter.default)}"
        texts.append(f"{star}{parameter.name}{hint}{default}")
    returns = "" if signature.return_annotation is signature.empty else f" -> {plain(signature.return_annotation)}"
    return f"{name}({', '.join(texts)}){'' if inspect.isclass(function) else returns}"


def plain(annotation: Any) -> str:
    """A type as the source writes it, without its module."""
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    return re.sub(r"\b[a-z_]+(?:\.[a-z_]+)*\.(?=[A-Z])", "", text)


def shown(value: Any) -> str:
    if isinstance(value, Enum):
        return repr(value.value)
    return value.__name__ if callable(value) else repr(value).removeprefix("datetime.")


def doc(thing: Any) -> list[str]:
    """The docstring: prose as it is, examples in a block. tests/docs runs the examples."""
    paragraphs = (inspect.getdoc(thing) or "").split("\n\n")
    return [
        f"```text\n{part}\n```" if part.startswith(">>>") else part.replace("\n", " ") for part in paragraphs if part
    ]


def summary(thing: Any) -> str:
    return doc(thing)[0] if doc(thing) else ""
