"""Makes one program of the blocks of a chain, and compares what it prints with what the page says."""

import re

from tests.docs.code_blocks import Chain, Part

SEPARATOR = "\x1e"
ANYTHING = "…"
END_OF_FILE = "END-OF-THIS-FILE"


def is_python(chain: Chain) -> bool:
    """Whether the chain is a Python program; everything else is one for a shell."""
    return all(part.language == "python" and part.file is None for part in chain.parts)


def python_script(parts: list[Part]) -> str:
    """Each part on the lines it has on its page, so that a traceback names them; what is between, blank.

    Before every part but the first stands a line that marks where its own output begins.
    """
    lines: list[str] = []
    for part in parts:
        blank = part.line - 1 - len(lines)
        mark = [f"print({SEPARATOR!r}, end='', flush=True)"] if lines else []
        lines += [*[""] * (blank - len(mark)), *mark, *part.code.splitlines()]
    return "\n".join(lines) + "\n"


def shell_script(parts: list[Part]) -> str:
    """One part after the other in one shell: files are written, Python is run."""
    return f"printf '{_octal(SEPARATOR)}'\n".join(_in_shell(part) for part in parts)


def _in_shell(part: Part) -> str:
    if part.file is not None:
        return _written(part.file, part.code)
    if part.language == "python":
        name = f"block_{part.line}.py"
        return _written(name, "\n" * (part.line - 1) + part.code) + f"python {name}\n"
    return part.code.removesuffix("\n") + "\n"


def _written(name: str, text: str) -> str:
    return f"cat > {name} <<'{END_OF_FILE}'\n{text.removesuffix(chr(10))}\n{END_OF_FILE}\n"


def _octal(text: str) -> str:
    return "".join(f"\\{ord(letter):03o}" for letter in text)


def fits(expected: str, printed: str) -> bool:
    """Whether a program printed what the page shows.

    `…` stands for anything on its line, and for any number of lines where it is alone; columns may be wider or narrower
    than on the page.
    """
    lines = []
    for line in expected.splitlines():
        if line.strip() == ANYTHING:
            lines.append(r"(?:[^\n]*\n)*")
            continue
        words = [r"[^\n]*".join(re.escape(piece) for piece in word.split(ANYTHING)) for word in re.split(" {2,}", line)]
        lines.append(" +".join(words) + r" *\n")
    return (
        re.fullmatch("".join(lines), printed if printed.endswith("\n") or not printed else printed + "\n") is not None
    )
