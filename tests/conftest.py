"""What every test may ask for: a PostgreSQL server for the run, and a schema of its own in it.

Several processes may share the tests of a run (`pytest -n 2`). The first process starts the server then, and each of
the others has a database of its own there.
"""

import gc
import os
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.memory_folder import memory_folder
from tests.postgres_server import fresh_schema, new_database, running_postgres
from tests.quick import FOLDERS, guard, is_quick, wants_quick
from tests.strides import SEED, chosen_seed

# A slow machine fails no test. In CI every run tries the same examples, so that what fails there is the change's doing.
settings.register_profile(
    "steady", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize="CI" in os.environ
)
settings.load_profile("steady")

# A busy machine with a full disk fails no test either: whoever tests that it needs rest simulates it.
os.environ["HOLDFAST_PRESSURE"] = "off"

# Many programs are started here, and none should have to compile all that it imports.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# Thousands of small databases come and go; in memory that costs less than on a disk. No proof needs the disk: what it
# keeps when the power fails is simulated.
os.environ.setdefault("TMPDIR", memory_folder() or tempfile.gettempdir())
tempfile.tempdir = None

# Programs without a home of their own keep their id in that of this test run, and not in yours.
HOME_OF_THE_RUN = tempfile.TemporaryDirectory(prefix="holdfast-tests-")
os.environ["XDG_DATA_HOME"] = HOME_OF_THE_RUN.name

SERVER = pytest.StashKey[str]()
MOST_PROCESSES = 8
HERE = Path(__file__).parent
# In this order: what takes longest must not be what the others wait for at the end.
SLOW = (
    HERE / "api" / "test_description.py",
    HERE / "model",
    HERE / "docs",
    HERE / "chaos",
    HERE / "test_demo.py",
    HERE / "test_repository.py",
    HERE / "daemon",
    HERE / "faults",
)


def pytest_configure() -> None:
    """In the background of a shell, Ctrl-C is ignored, also by all that the tests start. Take it again."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """What cannot hold a quick test is not even read when only those are wanted."""
    return True if wants_quick(config) and collection_path.parent == HERE and collection_path not in FOLDERS else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that start programs of their own come last, so that a broken rule shows first."""
    turns = {path: _turn(path) for path in {item.path for item in items}}
    items.sort(key=lambda item: turns[item.path])
    for item in items:
        if is_quick(item):
            item.add_marker("quick")


def pytest_collection_finish() -> None:
    """Thousands of tests are kept to the end. A search for garbage need not walk through them, nor a fork copy them."""
    gc.collect()
    gc.freeze()


def _turn(path: Path) -> int:
    return next((number for number, one in enumerate(SLOW, 1) if path.is_relative_to(one)), 0)


@pytest.fixture(autouse=True)
def no_process(request: pytest.FixtureRequest) -> Iterator[None]:
    """A test that is quick may start none: mark it with `processes`."""
    guard.is_on = request.node.get_closest_marker("quick") is not None
    yield
    guard.is_on = False


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """What `-n auto` means: four processes more than there are processors, since many a test waits for a while."""
    return min((os.cpu_count() or 1) + 4, MOST_PROCESSES)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell a process that is to run tests where the server of the run is."""
    stash = node.config.stash
    if wants_quick(node.config):
        return
    if SERVER not in stash:
        servers = ExitStack()
        node.config.add_cleanup(servers.close)
        stash[SERVER] = servers.enter_context(running_postgres(is_durable=False))
    node.workerinput["server"] = stash[SERVER]


@pytest.fixture(scope="session")
def postgres_url(request: pytest.FixtureRequest) -> Iterator[str]:
    """A database that lives as long as this test run; tests share it, so work in `postgres_schema`.

    The server may fall over, but not the machine below it: no test needs it to wait for the disk.
    """
    shared = getattr(request.config, "workerinput", None)
    if shared is None:
        with running_postgres(is_durable=False) as url:
            yield url
    else:
        yield new_database(shared["server"], shared["workerid"])


@pytest.fixture
def seed() -> int:
    """Of all chance in a test; shown when it fails."""
    chosen = chosen_seed()
    print(f"repeat with {SEED}={chosen}")
    return chosen


@pytest.fixture
def postgres_schema(postgres_url: str) -> Iterator[str]:
    """The name of a fresh, empty schema."""
    with fresh_schema(postgres_url) as name:
        yield name
