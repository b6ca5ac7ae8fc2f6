"""Workers that a daemon keeps: they come back when they die, and outlive the daemon when that does."""

from __future__ import annotations

import asyncio
import shutil
import signal
import threading
from pathlib import Path

import msgspec
import pytest

from holdfast import Retry
from holdfast.core.errors import Conflict, NotFound
from holdfast.daemon import supervisor as daemon_supervisor
from holdfast.daemon.place_history import CRASH_LOOP
from holdfast.daemon.supervisor import Supervisor
from holdfast.version import VERSION
from holdfast.wire.places import Occupant, WorkerPlace, lock_of
from tests.chaos.database import select
from tests.chaos.journal import entries
from tests.chaos.processes import PATIENCE_S, KnownProcess, kill, until
from tests.daemon.house import APPS, House, Process


def running(house: House, *tasks: str) -> None:
    """Wait until as many runs as these have begun."""
    until(lambda: len(entries(house.side, "start")) >= len(tasks), "the jobs run")


def test_a_job_whose_worker_crashes_runs_again_in_the_next_one(house: House) -> None:
    daemon = house.up(app="manners")
    first = house.worker()
    assert house.enqueue("dying", retry=Retry(0, initial=0)).result(PATIENCE_S) == 2
    assert house.worker() != first
    assert "worker_ended" in daemon.events()
    with house.store() as engine:
        [dead] = select(engine, "SELECT * FROM sessions WHERE status = 'unknown'")
        assert not Path(dead["lock_path"]).exists()
    house.down(daemon)


def test_a_worker_outlives_its_daemon_and_delivers_to_the_next(house: House) -> None:
    daemon = house.up(app="manners")
    worker, job = house.worker(), house.enqueue("short")
    running(house, "short")
    daemon.kill()
    (house.side / "finish").touch()
    until(lambda: entries(house.side, "end"), "it ends while there is no daemon")
    daemon = house.up(app="manners")
    assert job.result(PATIENCE_S) == "finished"
    assert [run.status for run in job.runs] == ["COMPLETED"]
    assert house.enqueue("plain", {"n": 5}).result(PATIENCE_S) == 5
    assert house.worker() == worker
    assert "worker_ended" not in daemon.events()
    house.down(daemon)
    until(lambda: not worker.is_alive, "it ends with the daemon that took it over")


def test_runs_of_a_worker_that_died_with_its_daemon_are_settled_by_the_next(house: House) -> None:
    daemon = house.up(app="manners")
    worker, job = house.worker(), house.enqueue("short", retry=Retry(0, initial=0))
    running(house, "short")
    daemon.kill()
    kill(worker)
    (house.side / "finish").touch()
    daemon = house.up(app="manners")
    assert job.result(PATIENCE_S) == "finished"
    assert [run.status for run in job.runs] == ["FAILED", "COMPLETED"]
    house.down(daemon)


def test_workers_with_other_code_or_too_many_make_room(house: House) -> None:
    daemon = house.up("--workers", "2", app="manners")
    before = house.worker("app-1"), house.worker("app-2")
    daemon.kill()
    daemon = house.up(app="by_hand")
    (house.side / "theirs").touch()
    assert house.enqueue("theirs", queue="theirs").result(PATIENCE_S) == "finished"
    until(lambda: not any(worker.is_alive for worker in before), "those from before are gone")
    house.down(daemon)


@pytest.mark.parametrize("hears", [True, False], ids=["hears", "deaf"])
def test_a_worker_of_another_version_makes_room(house: House, hears: bool) -> None:
    house.settings("[daemon]\nshort = 0\ngrace = 0\n")
    daemon = house.up(app="manners")
    worker, job = house.worker(), house.enqueue("short")
    running(house, "short")
    daemon.kill()
    note = lock_of(house.home, "app-1")
    there = msgspec.json.decode(note.read_bytes(), type=Occupant)
    assert there.version == VERSION
    note.write_bytes(msgspec.json.encode({"pid": worker.pid, "words": there.words}))
    if not hears:
        worker.send(signal.SIGSTOP)
    (house.side / "finish").touch()
    daemon = house.up(app="manners")
    assert job.result(PATIENCE_S) == "finished"
    until(lambda: not worker.is_alive, "the old one is gone")
    assert house.worker() != worker
    assert "is of version before 0.5.0; it is asked to stop" in daemon.said()
    house.down(daemon)


@pytest.mark.parametrize("way", ["by hand", "by the SDK"])
def test_a_worker_that_a_person_starts_is_the_same_to_the_daemon(house: House, way: str) -> None:
    daemon = house.up()
    words = ("-m", "holdfast.cli", "worker", "--app", f"{APPS}/by_hand.py")
    worker = house.python(*words) if way == "by hand" else house.python(f"{APPS}/by_hand.py")
    job = house.enqueue("theirs", queue="theirs")
    running(house, "theirs")
    daemon.kill()
    daemon = house.up()
    (house.side / "theirs").touch()
    assert job.result(PATIENCE_S) == "finished"
    assert [run.status for run in job.runs] == ["COMPLETED"]
    assert {row.pid: row.kind for row in house.client().sessions()}[worker.pid] == "worker"
    worker.send(signal.SIGTERM)
    worker.end_well()
    house.down(daemon)


def test_a_worker_that_ends_right_after_its_start_is_reported(house: House) -> None:
    house.home.create()

    async def watch() -> None:
        supervisor = Supervisor(house.home, [WorkerPlace("app-1", ("--app", "nowhere_to_be_found"))], pause=0.01)
        supervisor.start()
        await asyncio.to_thread(until, lambda: supervisor.kept()[0].is_crash_looping, "it is seen")
        [found] = supervisor.kept()
        assert (found.restarts, found.last_end) == (CRASH_LOOP, "ended with code 2")
        await supervisor.stop(PATIENCE_S)

    asyncio.run(watch())


def test_a_place_goes_on_though_the_examination_of_its_code_fails_in_any_way(house: House) -> None:
    house.home.create()
    tries: list[WorkerPlace] = []

    def examine(place: WorkerPlace) -> None:
        tries.append(place)
        raise RecursionError("too deep")

    async def watch() -> None:
        place = WorkerPlace("app-1", ("--app", "any"))
        supervisor = Supervisor(house.home, [place], pause=0.01, examine=examine)
        supervisor.start()
        await asyncio.to_thread(until, lambda: supervisor.kept()[0].is_crash_looping, "it is seen")
        [found] = supervisor.kept()
        assert (found.pid, found.end) == (None, "was not started: RecursionError('too deep')")
        await supervisor.stop(PATIENCE_S)
        assert len(tries) >= CRASH_LOOP

    asyncio.run(watch())


def test_a_stop_does_not_wait_for_an_examination_that_hangs(house: House) -> None:
    house.home.create()
    begun, released = threading.Event(), threading.Event()

    def examine(place: WorkerPlace) -> None:
        begun.set()
        released.wait()

    async def watch() -> None:
        supervisor = Supervisor(house.home, [WorkerPlace("app-1", ("--app", "any"))], examine=examine)
        supervisor.start()
        await asyncio.to_thread(begun.wait)
        await supervisor.stop(PATIENCE_S)
        assert supervisor.kept()[0].pid is None

    asyncio.run(watch())
    assert not released.is_set()
    released.set()


@pytest.mark.parametrize("words", [("--app", "any"), ("--app", "other")], ids=["same code", "other code"])
def test_a_worker_from_before_that_comes_into_the_place_of_one_just_started_is_told_of_the_stop_once(
    house: House, tmp_path: Path, words: tuple[str, ...]
) -> None:
    house.home.create()
    # The worker that is started sleeps before it comes to its place.
    (tmp_path / "sitecustomize.py").write_text("import time\ntime.sleep(3600)\n")

    async def stop_both() -> None:
        supervisor = Supervisor(house.home, [WorkerPlace("app-1", ("--app", "any"))], {"PYTHONPATH": str(tmp_path)})
        supervisor.start()
        await asyncio.to_thread(until, lambda: supervisor.kept()[0].pid, "one is started")
        there = await asyncio.to_thread(in_place, house, "app-1", *words)
        assert supervisor.pids() == {there.pid, supervisor.kept()[0].pid}
        await supervisor.stop(PATIENCE_S)
        assert not there.is_running

    asyncio.run(stop_both())
    assert (house.side / "signals").read_text() == "SIGTERM\n"


def test_a_worker_from_before_that_comes_late_into_a_place_which_is_not_wanted_makes_room(house: House) -> None:
    house.home.create()

    async def clear() -> None:
        supervisor = Supervisor(house.home, [])
        supervisor.start()
        await asyncio.sleep(0)
        there = await asyncio.to_thread(in_place, house, "app-2")
        await asyncio.to_thread(until, lambda: not there.is_running, "it has ended")
        await supervisor.stop(PATIENCE_S)

    asyncio.run(clear())
    assert (house.side / "signals").read_text() == "SIGTERM\n"


def test_a_worker_from_before_goes_on_in_a_place_that_is_added_and_stops_when_it_is_removed(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    house.home.create()
    monkeypatch.setattr(daemon_supervisor, "CLEAR_S", 3600)  # No second look comes in between.

    async def add_and_remove() -> None:
        supervisor = Supervisor(house.home, [])
        supervisor.start()
        there = await asyncio.to_thread(in_place, house, "app-2", "--app", "any")
        supervisor.add(WorkerPlace("app-2", ("--app", "any")))
        await asyncio.sleep(0)
        assert [place.pid for place in supervisor.kept()] == [there.pid]
        with pytest.raises(Conflict):
            supervisor.add(WorkerPlace("app-2", ("--app", "other")))
        await supervisor.remove("app-2", PATIENCE_S)
        assert not there.is_running
        assert (supervisor.kept(), supervisor.restarts) == ([], 0)
        await supervisor.stop(PATIENCE_S)

    asyncio.run(add_and_remove())
    assert (house.side / "signals").read_text() == "SIGTERM\n"


def test_places_come_and_go_while_others_stay(house: House, tmp_path: Path) -> None:
    house.home.create()
    # Workers that are started do nothing, and do not listen to a SIGTERM.
    (tmp_path / "sitecustomize.py").write_text(
        "import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\ntime.sleep(3600)\n"
    )

    async def come_and_go() -> None:
        supervisor = Supervisor(house.home, [WorkerPlace("stays", ())], {"PYTHONPATH": str(tmp_path)})
        supervisor.add(WorkerPlace("early", ()))
        supervisor.start()
        supervisor.add(WorkerPlace("late", ()))
        await asyncio.to_thread(until, lambda: all(place.pid for place in supervisor.kept()), "all are started")
        before = {place.name: KnownProcess.of(place.pid or 0) for place in supervisor.kept()}
        assert list(before) == ["stays", "early", "late"]
        await supervisor.remove("early", 0.0)
        await supervisor.remove("late", 0.0)
        assert [one.is_alive for one in before.values() if one is not None] == [True, False, False]
        supervisor.add(WorkerPlace("late", ()))
        await asyncio.to_thread(until, lambda: all(place.pid for place in supervisor.kept()), "it is started again")
        now = {place.name: KnownProcess.of(place.pid or 0) for place in supervisor.kept()}
        assert (now["stays"], now["late"] == before["late"], list(now)) == (before["stays"], False, ["stays", "late"])
        with pytest.raises(NotFound, match="there is no place 'early'"):
            await supervisor.remove("early", 0.0)
        await supervisor.stop(0.0)
        with pytest.raises(Conflict, match="is stopping"):
            supervisor.add(WorkerPlace("new", ()))

    asyncio.run(come_and_go())


def test_a_place_that_is_removed_twice_is_removed_once_and_goes_though_nobody_waits(
    house: House, tmp_path: Path
) -> None:
    house.home.create()
    (tmp_path / "sitecustomize.py").write_text("import time\ntime.sleep(3600)\n")

    async def remove_twice() -> None:
        supervisor = Supervisor(house.home, [WorkerPlace("a", ())], {"PYTHONPATH": str(tmp_path)})
        supervisor.start()
        await asyncio.to_thread(until, lambda: supervisor.kept()[0].pid, "it is started")
        gone = asyncio.create_task(supervisor.remove("a", PATIENCE_S))
        await asyncio.sleep(0)
        gone.cancel()
        second = asyncio.create_task(supervisor.remove("a", PATIENCE_S))
        await supervisor.remove("a", PATIENCE_S)
        supervisor.add(WorkerPlace("a", ()))
        await second
        assert [place.name for place in supervisor.kept()] == ["a"]
        await supervisor.stop(PATIENCE_S)
        assert supervisor.pids() == set()

    asyncio.run(remove_twice())


def test_a_place_goes_on_though_it_could_not_be_seen_who_is_there(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    house.home.create()
    failures: list[str] = []

    def fail(*_: object) -> bool:
        failures.append("no")
        raise OSError(24, "Too many open files")

    async def watch() -> None:
        with monkeypatch.context() as patched:
            patched.setattr(daemon_supervisor, "is_locked", fail)
            patched.setattr(daemon_supervisor, "occupied", fail)
            supervisor = Supervisor(house.home, [WorkerPlace("a", ("--app", "nowhere"))], pause=0.01)
            supervisor.start()
            await asyncio.to_thread(until, lambda: len(failures) > CRASH_LOOP, "it was tried")
        await asyncio.to_thread(until, lambda: supervisor.kept()[0].last_end == "ended with code 2", "one is started")
        await supervisor.stop(PATIENCE_S)

    asyncio.run(watch())


def in_place(house: House, name: str, *words: str) -> Process:
    """A process that is in a place, once it is there."""
    made = house.python(f"{APPS}/in_place.py", name, *words)
    assert house.worker(name).pid == made.pid
    return made


@pytest.mark.parametrize("loss", ["daemon", "home"])
def test_an_orphan_that_is_idle_ends_by_itself(house: House, loss: str) -> None:
    daemon = house.up()
    orphan = house.python(f"{APPS}/orphan.py", "0.5")
    assert house.enqueue("noted").result(PATIENCE_S) == orphan.pid
    system = house.worker("system")
    daemon.kill()
    kill(system)
    if loss == "home":
        shutil.rmtree(house.home.folder)
    orphan.end_well()


def test_an_orphan_with_something_to_deliver_waits_for_the_next_daemon(house: House) -> None:
    daemon = house.up()
    orphan = house.python(f"{APPS}/orphan.py", "0.1")
    job = house.enqueue("noted", {"needs": "finish"})
    # In the worker, and not only in the database: an answer that got lost is nothing to wait with.
    until((house.side / "began").exists, "it runs")
    daemon.kill()
    (house.side / "finish").touch()
    until(lambda: (house.side / "noted").exists(), "it has ended")
    daemon = house.up()
    assert job.result(PATIENCE_S) == orphan.pid
    house.down(daemon)
