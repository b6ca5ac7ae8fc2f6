"""The password of the store stands in no command line of ours."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest

from holdfast.daemon.settings.settings_file import STORE, load
from tests.cli.shell import Shell
from tests.daemon.house import House

SECRET = "correct-horse"
HINT = "keeps it out of `ps`"


def with_password(url: str) -> str:
    return f"{url}{'&' if '?' in url else '?'}password={SECRET}"


def command_lines(house: House) -> list[str]:
    """What everybody who belongs to the house shows in a list of processes."""
    lines = []
    for process in house.everybody():
        with suppress(FileNotFoundError, ProcessLookupError):  # It has ended meanwhile.
            lines.append(Path(f"/proc/{process.pid}/cmdline").read_text())
    return lines


def test_a_daemon_in_the_background_shows_no_password(house: House, postgres_url: str, postgres_schema: str) -> None:
    house.settings(f'[daemon]\nschema = "{postgres_schema}"\n')
    up = house.run("up", "--detach", "--store", with_password(postgres_url))
    up.end_well()
    assert HINT in up.said()
    house.worker("system")
    lines = command_lines(house)
    assert len(lines) >= 2
    assert SECRET not in "".join(lines)
    _, status = house.ask("GET", "/v1/daemon")
    assert status["dialect"] == "postgres"
    assert SECRET not in str(status)
    house.run("down").end_well()


def test_the_environment_names_the_store(house: House, postgres_url: str, postgres_schema: str) -> None:
    house.settings(f'[daemon]\nschema = "{postgres_schema}"\n')
    up = house.run("up", "--detach", env={STORE: with_password(postgres_url)})
    up.end_well()
    assert HINT not in up.said()
    _, status = house.ask("GET", "/v1/daemon")
    assert status["dialect"] == "postgres"
    house.run("down").end_well()


@pytest.mark.parametrize(
    "store", [f"postgresql://me:{SECRET}@db.example/work", f"postgresql:///work?password={SECRET}"]
)
def test_a_password_on_the_command_line_is_told_of(house: House, store: str) -> None:
    assert HINT in Shell(house.home).ok("up", "--store", store, "--print-config").err


@pytest.mark.parametrize("store", ["postgresql://me@db.example/work", "work.db"])
def test_a_store_without_a_password_is_nothing_to_tell_of(house: House, store: str) -> None:
    assert HINT not in Shell(house.home).ok("up", "--store", store, "--print-config").err


def test_the_environment_stands_between_the_file_and_the_options(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "holdfast.toml"
    file.write_text('[daemon]\nstore = "/file.db"\n')
    assert load(file).daemon.store == "/file.db"
    monkeypatch.setenv(STORE, "/environment.db")
    assert load(file).daemon.store == "/environment.db"
    assert load(file, {"daemon.store": None}).daemon.store == "/environment.db"
    assert load(file, {"daemon.store": "/option.db"}).daemon.store == "/option.db"
    monkeypatch.setenv(STORE, "")
    assert load(file).daemon.store == "/file.db"
