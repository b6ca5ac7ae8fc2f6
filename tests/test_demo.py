"""`make up` without a terminal, ten times as fast: it ends by itself and shows what it promises."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

DEMO = Path(__file__).parents[1] / "demo" / "demo.py"


@pytest.fixture(scope="module")
def told() -> str:
    command = [sys.executable, str(DEMO), "--pace", "0.1"]
    run = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=90, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    assert run.stderr == ""
    return run.stdout


def test_the_demo_shows_a_retry(told: str) -> None:
    assert "fetch_report was retried: its runs are FAILED, FAILED, COMPLETED." in told


def test_the_demo_shows_ten_saves_that_end_in_one_run(told: str) -> None:
    assert "Ten saves: 9 SUPERSEDED, 1 run." in told


def test_the_demo_shows_a_snooze(told: str) -> None:
    assert "await_upload snoozed and came back: YIELDED, COMPLETED." in told


def test_the_demo_shows_that_every_job_of_a_killed_process_is_recovered_by_another(told: str) -> None:
    [killed] = re.findall(r"Process (\d+) was killed", told)
    rescuers = re.findall(r"recovered by process (\d+), from minute (\d+) of 12", told)
    assert len(rescuers) == 3
    assert killed not in {process for process, _ in rescuers}
    assert all(int(minute) >= 6 for _, minute in rescuers)


def test_the_demo_ends_with_counts_and_a_clean_doctor(told: str) -> None:
    assert "22 jobs: 12 DONE, 9 SUPERSEDED, 1 FAILED." in told
    assert "doctor() checked every invariant of the database: clean." in told
    assert "Try next:" in told


def test_a_pipe_gets_plain_lines(told: str) -> None:
    assert "\x1b" not in told
    assert re.search(r"#1 +resize_photo +DONE +attempt 1", told)
