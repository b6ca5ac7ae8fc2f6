"""How a daemon begins, or says in one line why it cannot."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from holdfast.daemon.settings.settings_file import STORE
from holdfast.runtime.node import boot_id, node_name
from holdfast.store.locks import LifeLock
from holdfast.store.sqlite.engine import SqliteEngine
from holdfast.wire.home import HOME
from tests.chaos.processes import PATIENCE_S
from tests.daemon.house import House, Process, short_folder


def refusal(daemon: Process, code: int) -> str:
    """The one line that a daemon says before it ends with this code."""
    assert daemon.wait() == code, daemon.said()
    [line] = daemon.said().splitlines()
    return line


def test_a_second_daemon_is_refused_with_the_pid_of_the_first(house: House) -> None:
    first = house.up()
    said = refusal(house.begin(), 1)
    assert f"a daemon with pid {first.pid} lives in {house.home.folder} already" in said
    assert house.is_ready
    house.down(first)


def test_what_a_dead_daemon_left_behind_does_no_harm(house: House) -> None:
    house.up().kill()
    assert house.home.socket.exists()
    assert house.home.lock.read_text()
    daemon = house.up()
    house.down(daemon)


def test_a_lock_file_with_nonsense_in_it_does_no_harm(house: House) -> None:
    house.home.create()
    house.home.lock.write_text("nonsense")
    house.home.socket.write_text("nonsense")
    daemon = house.up()
    assert house.home.daemon_pid() == daemon.pid
    house.down(daemon)


def test_a_home_with_too_long_a_name_is_refused(side: Path) -> None:
    with short_folder() as folder:
        house = House(folder / ("x" * 100), side)
        said = refusal(house.run("up"), 2)
        assert "too long a name" in said
        assert not house.home.folder.exists()


def test_a_home_that_cannot_be_made_is_refused(side: Path) -> None:
    with short_folder() as folder:
        (folder / "file").touch()
        said = refusal(House(folder / "file" / "home", side).run("up"), 1)
        assert "cannot be used (Not a directory)" in said


def test_a_home_that_cannot_be_written_is_refused(house: House) -> None:
    house.home.folder.mkdir(mode=0o500)
    words = [sys.executable, "-m", "holdfast.cli", "up"]
    if os.geteuid() == 0:
        if not shutil.which("setpriv"):
            pytest.skip("root may write everywhere, and there is no setpriv to stop it")
        words = ["setpriv", "--bounding-set", "-dac_override,-dac_read_search", *words]
    said = refusal(house.start(*words), 1)
    assert "cannot be used (Permission denied)" in said


def test_a_database_that_does_not_answer_is_named(house: House) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        port = nobody.getsockname()[1]
        said = refusal(house.begin(env={STORE: f"postgresql://somebody:secret@127.0.0.1:{port}/nowhere"}), 1)
    assert "PostgreSQL 127.0.0.1/nowhere" in said
    assert "secret" not in said
    assert not house.home.lock.exists()


def test_a_port_that_is_taken_is_named(house: House) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        said = refusal(house.begin("--port", str(port)), 1)
    assert f"port {port} on 127.0.0.1 cannot be used" in said
    assert not house.home.lock.exists()


def test_a_database_of_an_earlier_version_is_migrated_with_a_copy_aside(house: House) -> None:
    house.home.create()
    old = SqliteEngine(house.home.database, now=lambda: 1, migrate_to=1)
    old.open()
    old.close()
    daemon = house.up(app="manners")
    assert house.enqueue("plain", {"n": 7}).result(PATIENCE_S) == 7
    house.down(daemon)
    [copy] = house.home.folder.glob("meta.db.before-migration-from-*")
    assert applied(copy) == [1]
    assert len(applied(house.home.database)) > 1


def test_a_worker_that_lives_on_does_not_stop_a_migration(house: House) -> None:
    house.home.create()
    old = SqliteEngine(house.home.database, now=lambda: 1, migrate_to=1)
    lock = LifeLock(old.locks / "sessions" / "s")
    old.open()
    old.close()
    with closing(apsw.Connection(str(house.home.database))) as connection:
        connection.execute(
            "INSERT INTO sessions (id, kind, status, node, boot_id, pid, lock_path, started_at, last_heartbeat_at) "
            "VALUES ('s', 'worker', 'running', ?, ?, ?, ?, 1, 1)",
            (node_name(), boot_id(), os.getpid(), str(lock.path)),
        )
    daemon = house.up()
    assert "s" in [row.id for row in house.client().sessions()]
    lock.release()
    house.down(daemon)


def applied(path: Path) -> list[int]:
    connection = apsw.Connection(str(path))
    try:
        return [row[0] for row in connection.execute("SELECT version FROM schema_version ORDER BY version")]
    finally:
        connection.close()


def test_a_file_in_the_present_folder_does_not_stand_in_for_a_module(house: House, tmp_path: Path) -> None:
    (tmp_path / "queue.py").write_text("raise SystemExit('this is not the module that was meant')")
    command = [sys.executable, "-P", "-m", "holdfast.cli"]
    environment = {**os.environ, HOME: str(house.home.folder)}
    house.settings("")
    subprocess.run([*command, "up", "--detach"], cwd=tmp_path, env=environment, check=True, timeout=PATIENCE_S)
    try:
        assert house.client().command("true").result(PATIENCE_S) == {"exit_code": 0}
    finally:
        subprocess.run([*command, "down"], cwd=tmp_path, env=environment, check=True, timeout=PATIENCE_S)
