"""Every code block of the README and of docs/ does what the page says it does.

Blocks that continue each other are one test; a page that says so gets a PostgreSQL server, or a daemon that all of its
blocks share which ask for one.
"""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from holdfast.wire.home import HOME
from tests.daemon.house import House, inhabited, short_folder
from tests.docs.code_blocks import BadBlock, Chain, chains_to_run
from tests.docs.scripts import SEPARATOR, fits, is_python, python_script, shell_script
from tests.warm import surroundings

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
CHAIN_SECONDS = 100


def runnable_chains(page: Path) -> list[Chain]:
    try:
        return chains_to_run(page.read_text())
    except BadBlock:
        return []  # The page's own test below tells what is wrong with it.


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    """A home for a daemon that a block may start."""
    side = tmp_path / "side"
    side.mkdir()
    with short_folder() as folder:
        house = House(folder / "home", side)
        yield house
        house.clear()


@pytest.fixture(scope="module")
def daemon_of(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[Path], House]]:
    """Gives the home of a page's daemon. It lives until the blocks of the next page need another one."""
    with ExitStack() as living:
        homes: dict[Path, House] = {}

        def home_of(page: Path) -> House:
            if page not in homes:
                living.close()
                homes.clear()
                homes[page] = living.enter_context(inhabited(tmp_path_factory.mktemp(page.stem)))
            return homes[page]

        yield home_of


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_block_of_the_page_says_what_it_is(page: Path) -> None:
    chains_to_run(page.read_text())


@pytest.mark.parametrize(
    ("page", "chain"),
    [
        pytest.param(page, chain, id=f"{page.relative_to(ROOT)}:{chain.line}")
        for page in PAGES
        for chain in runnable_chains(page)
    ],
)
def test_the_blocks_run(
    page: Path,
    chain: Chain,
    tmp_path: Path,
    house: House,
    daemon_of: Callable[[Path], House],
    request: pytest.FixtureRequest,
) -> None:
    folder = tmp_path / "reader"
    folder.mkdir()
    environment = reader_environment(folder, daemon_of(page) if "daemon" in chain.needs else house)
    if "postgres" in chain.needs:
        environment["HOLDFAST_TEST_POSTGRES_URL"] = request.getfixturevalue("postgres_url")
    run = subprocess.run(
        command(page, chain, folder),
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=CHAIN_SECONDS,
        check=False,
    )
    printed = run.stdout.split(SEPARATOR)
    last = chain.parts[len(printed) - 1]
    assert run.returncode == 0, f"line {last.line}: exit code {run.returncode}\n{printed[-1]}{run.stderr}"
    for part, said in zip(chain.parts, printed, strict=True):
        if part.output is not None:
            assert fits(part.output, said), f"line {part.line}: the page says\n{part.output}\nbut it printed\n{said}"


def reader_environment(folder: Path, house: House) -> dict[str, str]:
    """A block finds the environment's programs first, and leaves nothing in the real home folder."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    return {**surroundings(), "PATH": path, "HOME": str(folder), HOME: str(house.home.folder)}


def command(page: Path, chain: Chain, folder: Path) -> list[str | Path]:
    if not is_python(chain):
        return ["bash", "-e", "-o", "pipefail", "-c", shell_script(chain.parts)]
    # The suffix keeps a page called queue.md from hiding the module of that name.
    script = folder / f"{page.stem}_md.py"
    script.write_text(python_script(chain.parts))
    return [sys.executable, script]
