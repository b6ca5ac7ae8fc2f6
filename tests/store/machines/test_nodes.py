"""Machines: known by the id in their home, called by a name of their own."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from holdfast.core.errors import NotFound, StoreUnavailable
from holdfast.core.machine.machine import JudgedMachine
from holdfast.core.messages.machines import TokenSetting
from holdfast.core.messages.sessions import NewSession
from holdfast.core.rules.tokens import Tokens
from holdfast.store.engine import Engine
from holdfast.store.machine import ID_FILE, node_id
from holdfast.store.scripts.machines.machines import list_machines
from holdfast.store.scripts.machines.nodes import find_node, list_nodes, name_of
from holdfast.store.scripts.machines.tokens import list_tokens, set_tokens
from holdfast.store.scripts.maintenance.probed_machines import note_machine
from holdfast.store.scripts.sessions import sessions
from holdfast.store.scripts.watches.watches import list_watches, settle_file_watches
from tests.store.acts import NOW, write
from tests.store.watch_acts import new as new_watch

BUSY = JudgedMachine(is_idle=False, idle="in use", is_charging=True, charging="on AC", source="test")


def begin(engine: Engine, session_id: str, node: str, host: str, kind: str = "daemon", now: int = NOW) -> None:
    session = NewSession(session_id, kind, node, "boot", 1, None, host=host)
    write(engine, sessions.open_session, session, None, now)


def test_a_home_keeps_the_id_of_its_machine(tmp_path: Path) -> None:
    made = node_id(tmp_path / "home")
    assert node_id(tmp_path / "home") == made
    assert node_id(tmp_path / "other") != made
    assert (tmp_path / "home" / ID_FILE).stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("left", ["", "half an i", "\xff"])
def test_a_file_that_says_nothing_is_made_anew(tmp_path: Path, left: str) -> None:
    (tmp_path / ID_FILE).write_text(left, "latin-1")
    made = node_id(tmp_path)
    assert node_id(tmp_path) == made
    assert os.listdir(tmp_path) == [ID_FILE]


def test_all_who_ask_first_at_the_same_time_get_one_id(tmp_path: Path) -> None:
    found: list[str] = []
    together = threading.Barrier(8)

    def ask() -> None:
        together.wait()
        found.append(node_id(tmp_path))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert len(set(found)) == 1


def test_a_home_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreUnavailable, match="file/home/node cannot be used"):
        node_id(tmp_path / "file" / "home")


def test_two_machines_with_one_host_name_are_two(engine: Engine) -> None:
    begin(engine, "a", "id-a", "box")
    begin(engine, "b", "id-b", "box")
    begin(engine, "a2", "id-a", "box")
    begin(engine, "b2", "id-b", "box")
    names = {row.id: row.node for row in engine.query(sessions.running_sessions) if row.id != "s1"}
    assert names == {"a": "box", "b": "box-2", "a2": "box", "b2": "box-2"}
    assert (engine.query(find_node, "box-2").id, engine.query(find_node, "id-b").name) == ("id-b", "box-2")


def test_a_machine_with_a_new_host_name_is_the_same_machine(engine: Engine) -> None:
    begin(engine, "a", "id-a", "old")
    number = engine.query(find_node, "id-a").number
    begin(engine, "b", "id-a", "new", now=NOW + 5)
    found = engine.query(find_node, "new")
    assert (found.number, found.id, found.seen_at) == (number, "id-a", NOW + 5)
    assert {row.node for row in engine.query(sessions.running_sessions) if row.id != "s1"} == {"new"}


def test_a_worker_in_a_container_does_not_rename_the_machine(engine: Engine) -> None:
    begin(engine, "daemon", "id-a", "box")
    begin(engine, "worker", "id-a", "3f2a", kind="worker")
    assert engine.query(name_of, "id-a") == "box"


def test_a_machine_that_is_not_known_is_refused_with_those_that_are(engine: Engine) -> None:
    with pytest.raises(NotFound, match="there is no machine 'nowhere'; known are: node"):
        engine.query(find_node, "nowhere")


def test_all_that_was_kept_by_name_goes_to_the_machine_that_comes_back(engine: Engine) -> None:
    # As it was before machines had ids: the name stood for the id everywhere.
    begin(engine, "old", "box", "box")
    write(engine, note_machine, "box", BUSY, None, NOW)
    setting = TokenSetting(tokens=Tokens(cpu=2))
    session = NewSession("older", "daemon", "box", "boot", 1, None, setting, "box")
    write(engine, sessions.open_session, session, None, NOW)
    write(engine, set_tokens, NOW, "box", 7)
    assert write(engine, settle_file_watches, [new_watch()], "box", NOW) == []
    number = engine.query(find_node, "box").number

    begin(engine, "new", "id-a", "box")
    assert [(node.number, node.id, node.name) for node in engine.query(list_nodes) if node.name != "node"] == [
        (number, "id-a", "box")
    ]
    assert {row.node_id for row in engine.query(sessions.running_sessions) if row.id != "s1"} == {"id-a"}
    assert [(machine.node, machine.node_id) for machine in engine.query(list_machines)] == [("box", "id-a")]
    assert [(row.node, row.node_id, row.capacity.cpu) for row in engine.query(list_tokens)] == [("box", "id-a", 7)]
    assert [(watch.node, watch.node_id) for watch in engine.query(list_watches)] == [("box", "id-a")]

    begin(engine, "stranger", "id-b", "box")
    assert engine.query(name_of, "id-b") == "box-2"
