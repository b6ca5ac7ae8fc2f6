"""Finds the code blocks of a Markdown page and says what is to be done with each.

Reads text and returns data; running is the business of test_code_blocks. The words after the language are a
small grammar of their own: `python continue`, `python postgres`, `bash norun: reason`, `text output`.
"""

import re
from dataclasses import dataclass, replace
from typing import Self

from markdown_it import MarkdownIt
from markdown_it.token import Token

SHELLS = frozenset({"bash", "sh", "console"})
SHOWN = frozenset({"sql", "text", "mermaid", "json", "toml"})
WORDS = {"python": frozenset({"continue", "postgres"}), "text": frozenset({"output"})}

# Only what would start the tests within the tests, run for ever, or change this environment may go unrun.
UNRUN_COMMANDS = re.compile(r"make up|make test|pip install .+")


class BadBlock(Exception):
    """A block that says something this grammar has no rule for."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(f"line {line}: {reason}")


@dataclass(frozen=True)
class Info:
    """What stands behind the opening fence."""

    language: str
    words: frozenset[str] = frozenset()
    norun: str | None = None

    @classmethod
    def parse(cls, text: str, line: int) -> Self:
        head, marked, reason = text.partition(" norun")
        language, *words = head.split() or [""]
        if not language:
            raise BadBlock(line, "a fence needs a language")
        if language not in {"python"} | SHELLS | SHOWN:
            raise BadBlock(line, f"unknown language {language!r}")
        if unknown := set(words) - WORDS.get(language, frozenset()):
            raise BadBlock(line, f"{language} does not know {', '.join(sorted(unknown))}")
        if not marked:
            return cls(language, frozenset(words))
        if language not in SHELLS:
            raise BadBlock(line, f"norun is for shell blocks, not for {language}")
        if not reason.removeprefix(":").strip():
            raise BadBlock(line, "norun needs a reason, as in `bash norun: starts the demo`")
        return cls(language, frozenset(words), reason.removeprefix(":").strip())


@dataclass(frozen=True)
class Part:
    """Consecutive lines of a page; `line` is the page's line, from 1, that holds the first of them."""

    line: int
    code: str


@dataclass(frozen=True)
class Block:
    """Something to run. A continued block carries the parts it continues before its own."""

    info: Info
    parts: tuple[Part, ...]
    output: str | None = None

    @property
    def line(self) -> int:
        return self.parts[-1].line

    @property
    def postgres(self) -> bool:
        return "postgres" in self.info.words


def blocks_to_run(page: str) -> list[Block]:
    """Every block of the page that a reader could run, in order."""
    blocks: list[Block] = []
    previous: Token | None = None
    for token in MarkdownIt("commonmark").parse(page):
        if token.type == "code_block":
            raise BadBlock(_first_line(token), "indented code is not run; use a fence with a language")
        if token.type == "fence":
            _add(blocks, token, previous)
        previous = token
    return blocks


def _add(blocks: list[Block], token: Token, previous: Token | None) -> None:
    line = _first_line(token)
    info = Info.parse(token.info, line)
    if "output" in info.words:
        blocks.append(_with_output(blocks, token, previous))
    elif info.norun is not None:
        _refuse_needless_norun(_typed(info.language, token.content), line)
    elif info.language not in SHOWN:
        block = Block(info, (Part(line, _typed(info.language, token.content)),))
        blocks.append(_continuation(blocks, block) if "continue" in info.words else block)


def _with_output(blocks: list[Block], token: Token, previous: Token | None) -> Block:
    line = _first_line(token)
    if not blocks or previous is None or previous.type != "fence" or _first_line(previous) != blocks[-1].line:
        raise BadBlock(line, "output must directly follow the block that prints it")
    block = blocks.pop()
    return Block(block.info, block.parts, output=token.content)


def _continuation(blocks: list[Block], block: Block) -> Block:
    if not blocks or blocks[-1].info.language != "python":
        raise BadBlock(block.line, "there is no python block before this one to continue")
    before = blocks[-1]
    info = replace(block.info, words=block.info.words | before.info.words)
    return Block(info, before.parts + block.parts)


def _refuse_needless_norun(code: str, line: int) -> None:
    for command in code.splitlines():
        if command.strip() and not command.startswith("#") and not UNRUN_COMMANDS.fullmatch(command.strip()):
            raise BadBlock(line, f"norun is not for {command!r}")


def _typed(language: str, code: str) -> str:
    """In a console session with prompts, the lines without one are what the commands answered."""
    typed = [line[2:] for line in code.splitlines() if line.startswith(("$ ", "> "))]
    return "\n".join(typed) if language == "console" and typed else code


def _first_line(token: Token) -> int:
    assert token.map is not None
    # The map counts from 0 and a fence's own line is not code.
    return token.map[0] + (2 if token.type == "fence" else 1)
