"""Programs of 0.5 go on beside a daemon of this version. Their environment is made from the last commit of 0.5."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast import Holdfast
from tests.chaos.processes import PATIENCE_S, ROOT, until
from tests.daemon.house import House

pytestmark = pytest.mark.long

LAST_OF_0_5 = "7487385fe209"
WORKER = """
import os, time
from pathlib import Path
from holdfast import Context, Holdfast
hf = Holdfast()
side = Path(os.environ["HOLDFAST_TEST_SIDE"])

@hf.task
def double(x: int) -> int:
    return 2 * x

@hf.task
def fails_once(ctx: Context) -> int:
    if ctx.attempt == 1:
        raise ConnectionError("not yet")
    return ctx.attempt

@hf.task
def endless(ctx: Context) -> None:
    (side / "endless").touch()
    while True:
        ctx.check()
        time.sleep(0.01)

if __name__ == "__main__":
    hf.run()
"""
ENQUEUER = """
from holdfast import Holdfast
from holdfast.version import VERSION
hf = Holdfast()
assert VERSION.startswith("0.5."), VERSION
print(hf.enqueue("double", {"x": 21}).result(60))
"""
EMBEDDED = """
import sys
from holdfast import Holdfast
hf = Holdfast(sys.argv[1])

@hf.task
def double(x: int) -> int:
    return 2 * x

double.enqueue(x=1)
double.options(on_event="build.*").enqueue(x=2)
hf.add_webhook("https://hooks.example.com/in", on="build.*", name="ci")
"""


@pytest.fixture(scope="session")
def python_of_0_5(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The Python of an environment that has 0.5."""
    folder = tmp_path_factory.mktemp("of-0-5")
    archive = subprocess.run(["git", "-C", str(ROOT), "archive", LAST_OF_0_5], capture_output=True, check=False)
    if archive.returncode != 0:
        pytest.skip("this checkout does not have the history of 0.5")
    (folder / "package").mkdir()
    subprocess.run(["tar", "-x", "-C", str(folder / "package")], input=archive.stdout, check=True)
    subprocess.run([sys.executable, "-m", "venv", str(folder / "venv")], check=True)
    python = str(folder / "venv" / "bin" / "python")
    pins = str(folder / "package" / "constraints.txt")
    subprocess.run([python, "-m", "pip", "install", "-q", "-c", pins, str(folder / "package")], check=True)
    return python


def in_0_5(python: str, house: House, program: str, *words: str) -> str:
    """What a program of 0.5 prints."""
    environment = {**os.environ, "PYTHONPATH": "", "HOLDFAST_HOME": str(house.home.folder)}
    done = subprocess.run(
        [python, "-c", program, *words],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        env=environment,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_worker_and_a_client_go_on_with_a_new_daemon(house: House, tmp_path: Path, python_of_0_5: str) -> None:
    program = tmp_path / "worker.py"
    program.write_text(WORKER)
    daemon = house.up()
    worker = house.start(python_of_0_5, str(program), env={"PYTHONPATH": ""})
    hf = house.client()
    until(lambda: {task.name for task in hf.tasks()} >= {"double", "endless"}, "its tasks are known")
    assert [house.enqueue("double", {"x": x}).result(PATIENCE_S) for x in range(20)] == list(range(0, 40, 2))
    handles = [hf.enqueue("double", {"x": x}, delay="100ms") for x in range(5)]
    assert [handle.result(PATIENCE_S) for handle in handles] == [0, 2, 4, 6, 8]
    assert hf.enqueue("fails_once", retry=2).result(PATIENCE_S) == 2
    waits = hf.enqueue("double", {"x": 50}, on_event="build.done")
    hf.emit("build.done")
    assert waits.result(PATIENCE_S) == 100
    endless = hf.enqueue("endless")
    until((house.side / "endless").exists, "it runs")
    endless.cancel()
    until(lambda: endless.state == "CANCELLED", "it was stopped")
    assert in_0_5(python_of_0_5, house, ENQUEUER) == "42"
    worker.send(15)
    worker.end_well()
    house.down(daemon)


def test_a_database_of_0_5_is_opened(house: House, tmp_path: Path, python_of_0_5: str) -> None:
    in_0_5(python_of_0_5, house, EMBEDDED, str(tmp_path / "work.db"))
    hf = Holdfast(tmp_path / "work.db")

    @hf.task
    def double(x: int) -> int:
        return 2 * x

    assert hf.drain() == 1
    hf.emit("build.done")
    hf.drain()
    assert sorted(job.state.name for job in hf.jobs(task="double").jobs) == ["DONE", "DONE"]
    assert len(hf.deliveries("ci").deliveries) == 1
    hf.close()
