"""A virtual environment for each peer, made on first use and again when its requirements change."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

REQUIREMENTS = Path(__file__).with_name("requirements")
CACHE = Path(__file__).parents[2] / "build" / "peers"


class Unavailable(Exception):
    """A contestant or its server could not be had here; the text says why."""


def python_of(name: str | None) -> str:
    """The interpreter that has the library installed; None stands for the project's own."""
    if name is None:
        return sys.executable
    folder = CACHE / name
    python, stamp = folder / "bin" / "python", folder / "installed"
    wanted = f"{sys.version}\n{(REQUIREMENTS / f'{name}.txt').read_text('utf-8')}"
    if not stamp.exists() or stamp.read_text("utf-8") != wanted:
        shutil.rmtree(folder, ignore_errors=True)
        _run([sys.executable, "-m", "venv", str(folder)])
        install = ["-m", "pip", "install", "-q", "--disable-pip-version-check", "-r", f"{REQUIREMENTS / name}.txt"]
        _run([str(python), *install])
        stamp.write_text(wanted, "utf-8")
    return str(python)


def _run(words: list[str]) -> None:
    result = subprocess.run(words, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise Unavailable(f"could not be installed: {last_line(result.stderr or result.stdout)}")


def last_line(text: str) -> str:
    """The line in which a program says what went wrong."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "it said nothing"
