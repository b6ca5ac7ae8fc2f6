"""Every code block of the README and of docs/ does what the page says it does.

Continued python blocks run again what they continue, so each block is a test of its own.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.code_blocks import BadBlock, Block, Part, blocks_to_run

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK_SECONDS = 60
SEPARATOR = "\x1e"


def runnable_blocks(page: Path) -> list[Block]:
    try:
        return blocks_to_run(page.read_text())
    except BadBlock:
        return []  # The page's own test below tells what is wrong with it.


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_block_of_the_page_says_what_it_is(page: Path) -> None:
    blocks_to_run(page.read_text())


@pytest.mark.parametrize(
    ("page", "block"),
    [
        pytest.param(page, block, id=f"{page.relative_to(ROOT)}:{block.line}")
        for page in PAGES
        for block in runnable_blocks(page)
    ],
)
def test_the_block_runs(page: Path, block: Block, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    environment = reader_environment(tmp_path)
    if block.postgres:
        environment["HOLDFAST_TEST_POSTGRES_URL"] = request.getfixturevalue("postgres_url")
    command = python_command(page, block, tmp_path) if block.info.language == "python" else shell_command(block)
    run = subprocess.run(
        command,
        cwd=tmp_path,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=BLOCK_SECONDS,
        check=False,
    )
    assert run.returncode == 0, f"exit code {run.returncode}\n{run.stdout}{run.stderr}"
    if block.output is not None:
        assert run.stdout.rpartition(SEPARATOR)[2] == block.output


def reader_environment(home: Path) -> dict[str, str]:
    """A block finds the environment's programs first, and leaves nothing in the real home folder."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    return {**os.environ, "PATH": path, "HOME": str(home)}


def shell_command(block: Block) -> list[str | Path]:
    return ["bash", "-e", "-o", "pipefail", "-c", block.parts[-1].code]


def python_command(page: Path, block: Block, folder: Path) -> list[str | Path]:
    # The suffix keeps a page called queue.md from hiding the module of that name.
    script = folder / f"{page.stem}_md.py"
    script.write_text(as_script(block.parts))
    return [sys.executable, script]


def as_script(parts: tuple[Part, ...]) -> str:
    """Each part on the lines it has on its page, so that a traceback names them; what is between, blank.

    Before a continuation stands a line that marks where its own output begins.
    """
    lines: list[str] = []
    for part in parts:
        blank = part.line - 1 - len(lines)
        mark = [f"print({SEPARATOR!r}, end='', flush=True)"] if lines else []
        lines += [*[""] * (blank - len(mark)), *mark, *part.code.splitlines()]
    return "\n".join(lines) + "\n"
