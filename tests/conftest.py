"""What every test may ask for: a PostgreSQL server for the run, and a schema of its own in it."""

import os
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.postgres_server import fresh_schema, running_postgres

# A slow machine fails no test. In CI every run tries the same examples, so that what fails there is the change's doing.
settings.register_profile(
    "steady", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize="CI" in os.environ
)
settings.load_profile("steady")

# A busy machine with a full disk fails no test either: whoever tests that it needs rest simulates it.
os.environ["HOLDFAST_PRESSURE"] = "off"

# Programs without a home of their own keep their id in that of this test run, and not in yours.
HOME_OF_THE_RUN = tempfile.TemporaryDirectory(prefix="holdfast-tests-")
os.environ["XDG_DATA_HOME"] = HOME_OF_THE_RUN.name

HERE = Path(__file__).parent
SLOW = (
    HERE / "docs",
    HERE / "api" / "test_description.py",
    HERE / "test_repository.py",
    HERE / "test_demo.py",
    HERE / "faults",
    HERE / "model",
    HERE / "daemon",
    HERE / "chaos",
)


def pytest_configure() -> None:
    """Whoever starts the tests in the background of a shell has Ctrl-C ignored, for himself and all that they start."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that start programs of their own come last, so that a broken rule shows first."""
    items.sort(key=lambda item: any(item.path.is_relative_to(slow) for slow in SLOW))


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """A server that lives as long as this test run; tests share it, so work in `postgres_schema`."""
    with running_postgres() as url:
        yield url


@pytest.fixture
def postgres_schema(postgres_url: str) -> Iterator[str]:
    """The name of a fresh, empty schema."""
    with fresh_schema(postgres_url) as name:
        yield name
