"""Finds the code blocks of a Markdown page and says what is to be done with each.

Reads text and returns data; running is the business of test_code_blocks. The words after the language are a small
grammar of their own: `python continue`, `bash daemon`, `python file=tasks.py`, `bash norun: reason`, `text output`.
"""

import re
from dataclasses import dataclass, field
from typing import Self

from markdown_it import MarkdownIt
from markdown_it.token import Token

BLOCKS = MarkdownIt("commonmark").disable("inline")  # What stands within a paragraph is of no interest here.
SHELLS = frozenset({"bash", "sh", "console"})
SHOWN = frozenset({"sql", "text", "mermaid", "json", "toml", "ini"})
NEEDS = frozenset({"postgres", "daemon"})
RUN_WORDS = NEEDS | {"continue"}
FILE = "file="

# Only what would start the tests within the tests, change this environment or ask for the machine's own services may
# go unrun.
UNRUN_COMMANDS = re.compile(r"make (up|down|tour|test)|pip install .+|(sudo )?(systemctl|loginctl|journalctl) .+")


class BadBlock(Exception):
    """A block that says something this grammar has no rule for."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(f"line {line}: {reason}")


@dataclass(frozen=True)
class Info:
    """What stands behind the opening fence."""

    language: str
    words: frozenset[str] = frozenset()
    file: str | None = None
    norun: str | None = None

    @classmethod
    def parse(cls, text: str, line: int) -> Self:
        head, marked, reason = text.partition(" norun")
        language, *words = head.split() or [""]
        if not language:
            raise BadBlock(line, "a fence needs a language")
        if language not in {"python"} | SHELLS | SHOWN:
            raise BadBlock(line, f"unknown language {language!r}")
        files = [word.removeprefix(FILE) for word in words if word.startswith(FILE)]
        others = frozenset(word for word in words if not word.startswith(FILE))
        known = {"output"} if language == "text" else RUN_WORDS if language in SHELLS | {"python"} or files else set()
        if unknown := others - known:
            raise BadBlock(line, f"{language} does not know {', '.join(sorted(unknown))}")
        if len(files) > 1 or not all(re.fullmatch(r"[\w.-]+", name) for name in files):
            raise BadBlock(line, "a block is saved under one name, as in `python file=tasks.py`")
        if not marked:
            return cls(language, others, files[0] if files else None)
        if language not in SHELLS:
            raise BadBlock(line, f"norun is for shell blocks, not for {language}")
        if not reason.removeprefix(":").strip():
            raise BadBlock(line, "norun needs a reason, as in `bash norun: starts the demo`")
        return cls(language, others, norun=reason.removeprefix(":").strip())


@dataclass
class Part:
    """One block of a page; `line` is the page's line, from 1, that holds the first of its code."""

    line: int
    language: str
    code: str
    file: str | None = None
    output: str | None = None

    @property
    def is_shell(self) -> bool:
        return self.language in SHELLS


@dataclass
class Chain:
    """Blocks that belong together: what one leaves behind, the next one finds."""

    parts: list[Part] = field(default_factory=list)
    needs: frozenset[str] = frozenset()

    @property
    def line(self) -> int:
        return self.parts[0].line


def chains_to_run(page: str) -> list[Chain]:
    """Every block of the page that a reader could run, in order."""
    chains: list[Chain] = []
    previous: Token | None = None
    for token in BLOCKS.parse(page):
        if token.type == "code_block":
            raise BadBlock(_first_line(token), "indented code is not run; use a fence with a language")
        if token.type == "fence":
            _add(chains, token, previous)
        previous = token
    for chain in chains:
        if all(part.file for part in chain.parts):
            raise BadBlock(chain.line, "what is saved here is used by no block that says `continue`")
    return chains


def _add(chains: list[Chain], token: Token, previous: Token | None) -> None:
    line = _first_line(token)
    info = Info.parse(token.info, line)
    if "output" in info.words:
        _add_output(chains, token, previous)
    elif info.norun is not None:
        _refuse_needless_norun(_typed(info.language, token.content), line)
    elif info.language not in SHOWN or info.file is not None:
        if "continue" not in info.words:
            chains.append(Chain())
        elif not chains:
            raise BadBlock(line, "there is no block before this one to continue")
        chains[-1].parts.append(Part(line, info.language, _typed(info.language, token.content), info.file))
        chains[-1].needs |= info.words & NEEDS


def _add_output(chains: list[Chain], token: Token, previous: Token | None) -> None:
    last = chains[-1].parts[-1] if chains else None
    if last is None or previous is None or previous.type != "fence" or _first_line(previous) != last.line:
        raise BadBlock(_first_line(token), "output must directly follow the block that prints it")
    if last.file is not None:
        raise BadBlock(_first_line(token), "a block that is saved prints nothing")
    last.output = token.content


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
