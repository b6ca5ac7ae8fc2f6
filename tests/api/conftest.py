"""The API that a test calls, and a caller on its socket."""

from __future__ import annotations

import resource
from collections.abc import Iterator

import pytest

from tests.api.caller import Caller, on_socket
from tests.api.running import RunningApi, running_api


@pytest.fixture
def api() -> Iterator[RunningApi]:
    """An API with its own database, with TCP."""
    with running_api(port=0) as api:
        yield api


@pytest.fixture
def caller(api: RunningApi) -> Iterator[Caller]:
    """A caller on the unix socket."""
    caller = on_socket(api)
    yield caller
    caller.close()


@pytest.fixture
def many_files() -> Iterator[None]:
    """Both ends of a thousand connections are in this process."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 4_096 if hard == resource.RLIM_INFINITY else min(4_096, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
