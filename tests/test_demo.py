"""`make up`, `make down` and `make tour` without a terminal: they show what they promise and leave nothing running."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.wire.home import HOME
from tests.chaos.processes import until
from tests.daemon.house import House, short_folder

DEMO = Path(__file__).parents[1] / "demo"


def play(name: str, *words: str, home: Path | None = None) -> str:
    """Run a script of the demo; what it said."""
    environment = {key: value for key, value in os.environ.items() if key != HOME}
    run = subprocess.run(
        [sys.executable, str(DEMO / name), *words],
        env=environment if home is None else {**environment, HOME: str(home)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert run.stderr == ""
    return run.stdout


def rows(said: str) -> dict[str, tuple[str, str]]:
    """The table of `make up`: for what a job shows, its number and its state. Of several, the last one."""
    found = re.findall(r"^(\d+) +([A-Z_]+) +\w+ +(.+)$", said, re.MULTILINE)
    return {shows: (number, state) for number, state, shows in found}


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with short_folder() as folder:
        house = House(folder / "home", tmp_path_factory.mktemp("side"))
        yield house
        house.clear()


@pytest.fixture(scope="module")
def up(house: House) -> str:
    return play("up.py", home=house.home.folder)


def test_up_leaves_jobs_of_every_kind(up: str) -> None:
    assert {shows: state for shows, (_, state) in rows(up).items()} == {
        "done": "DONE",
        "done, in a process of its own": "DONE",
        "runs for a while, with progress": "RUNNING",
        "waits for the film": "SCHEDULED",
        "fails, and is tried again": "SCHEDULED",
        "failed for good": "FAILED",
        "the newest save ran, not the older ones": "SUPERSEDED",
        "waits: its queue is paused": "QUEUED",
        "waits for its time": "SCHEDULED",
        "a command, done": "DONE",
        "a command with a log that grows": "RUNNING",
    }
    assert "\x1b" not in up


def test_up_shows_a_schedule_that_fires(up: str, house: House) -> None:
    assert "schedule count_orders: Every minute, UTC" in up
    schedule = house.client().schedule("count_orders")
    assert (schedule.view().enabled, schedule.view().template) == (True, "count_orders")


def test_every_command_that_up_suggests_exists(up: str) -> None:
    suggested = re.findall(r"^  \S*holdfast (\w+)", up, re.MULTILINE)
    assert {"top", "why", "logs", "show", "schedule", "run", "cancel", "resume"} == set(suggested)
    for command in suggested:
        subprocess.run([sys.executable, "-m", "holdfast.cli", command, "--help"], capture_output=True, check=True)


def test_the_waiting_job_says_why(up: str, house: House) -> None:
    number, _ = rows(up)["waits: its queue is paused"]
    said = house.client().job(int(number)).why().closed
    assert [gate.reason for gate in said] == ["queue 'mail' is paused (the mail server is being moved)"]


def test_up_again_stores_nothing_again(up: str, house: House) -> None:
    again = play("up.py", home=house.home.folder)
    assert again.startswith("The daemon is up already.")
    assert {shows: number for shows, (number, _) in rows(again).items()} == {
        shows: number for shows, (number, _) in rows(up).items()
    }


def test_down_stops_everything_and_up_goes_on_with_the_film(up: str, house: House) -> None:
    number, _ = rows(up)["runs for a while, with progress"]
    assert "The daemon is down." in play("down.py", home=house.home.folder)
    until(lambda: not house.everybody(), "nobody is left")
    assert "No daemon was running." in play("down.py", home=house.home.folder)
    again = play("up.py", home=house.home.folder)
    assert rows(again)["runs for a while, with progress"] == (number, "RUNNING")
    assert [str(run.status) for run in house.client().job(int(number)).runs] == ["YIELDED", "None"]


def test_a_daemon_of_somebody_else_is_left_alone(tmp_path: Path) -> None:
    with short_folder() as folder:
        house = House(folder / "home", tmp_path)
        try:
            house.up()
            environment = {**os.environ, HOME: str(house.home.folder), "HOLDFAST_DEMO_PATIENCE": "0"}
            command = [sys.executable, str(DEMO / "up.py")]
            run = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
            assert run.returncode == 1
            assert "a daemon without the tasks of the demo lives there" in run.stderr
            assert house.client().jobs().jobs == []
        finally:
            house.clear()


@pytest.fixture(scope="module")
def tour() -> str:
    return play("tour.py", "--pace", "0.1")


def test_the_tour_shows_a_retry(tour: str) -> None:
    assert "fetch_report was retried: its runs are FAILED, FAILED, COMPLETED." in tour


def test_the_tour_shows_ten_saves_that_end_in_one_run(tour: str) -> None:
    assert "Ten saves: 9 SUPERSEDED, 1 run." in tour


def test_the_tour_shows_a_snooze(tour: str) -> None:
    assert "await_upload snoozed and came back: YIELDED, COMPLETED." in tour


def test_the_tour_shows_that_every_job_of_a_killed_process_is_recovered_by_another(tour: str) -> None:
    [killed] = re.findall(r"Process (\d+) was killed", tour)
    rescuers = re.findall(r"recovered by process (\d+), from minute (\d+) of 12", tour)
    assert len(rescuers) == 3
    assert killed not in {process for process, _ in rescuers}
    assert all(int(minute) >= 6 for _, minute in rescuers)


def test_the_tour_ends_with_counts_and_a_clean_doctor(tour: str) -> None:
    assert "22 jobs: 12 DONE, 9 SUPERSEDED, 1 FAILED." in tour
    assert "doctor() checked every invariant of the database: clean." in tour
    assert "Try next:" in tour


def test_a_pipe_gets_plain_lines(tour: str) -> None:
    assert "\x1b" not in tour
    assert re.search(r"#1 +resize_photo +DONE +attempt 1", tour)
