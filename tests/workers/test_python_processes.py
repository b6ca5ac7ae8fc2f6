"""A Python task in a process of its own can do what it can do inside its worker, and crash alone."""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from holdfast import Holdfast, InvalidInput, JobHandle, Retry, RunStatus, StateName
from holdfast.core.jobs.requests import NewJob
from holdfast.hosting import program_loader
from holdfast.store.scripts.jobs.enqueue import enqueue
from tests.client.acts import WAIT, wait_until
from tests.workers.task_modules import loaded_anew

ROOT = Path(__file__).parents[2]
MODULE = "tests.workers.isolated_tasks"


@pytest.fixture
def tasks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The module of the tasks, loaded anew on a database of its own."""
    monkeypatch.setenv("ISOLATED_DB", str(tmp_path / "work.db"))
    monkeypatch.setenv("OF_THE_WORKER", "inherited")
    with loaded_anew(MODULE) as module:
        yield module


def ended(tasks: Any, job: JobHandle[Any]) -> JobHandle[Any]:
    with tasks.hf:
        job.wait(WAIT)
    return job


def test_a_task_has_all_of_its_context(tasks: Any, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    job = tasks.tell.enqueue(number=5)
    with tasks.hf:
        said = job.result(WAIT)
        child = tasks.hf.job(said["child"])
        assert (child.result(WAIT), child.job.checkpoint) == (6, '"kept"')
    assert said["pid"] != os.getpid()
    assert (said["main_thread"], said["stdin"], said["secret"], said["attempt"]) == (True, "", "inherited", 1)
    [run] = job.runs
    assert (run.id, run.pid, run.status) == (said["run_id"], said["pid"], RunStatus.COMPLETED)
    assert json.loads(run.artifacts or "") == [{"name": "made/by.txt", "size": 5}]
    assert child.job.parent_job_id == job.id
    log = job.tail(10)
    assert [word in log for word in ("printed", "complained", "INFO    logged 5", "not for")] == [
        True,
        True,
        True,
        False,
    ]
    [record] = [record for record in caplog.records if record.name == "holdfast.task.tell"]
    assert (record.getMessage(), getattr(record, "run_id", None)) == ("logged 5", run.id)


def test_a_checkpoint_is_durable_when_it_returns_and_progress_shows(tasks: Any) -> None:
    job = ended(tasks, tasks.step.options(retry=Retry(0, initial=0)).enqueue())
    assert job.result() == [1, 2]
    assert (job.job.checkpoint, job.job.progress, job.job.progress_text) == ("[1,2]", 0.5, "half-way")
    assert job.runs[0].error_code == "SIGNAL_SIGKILL"


@pytest.mark.parametrize(
    ("way", "kind", "code", "exit_code"),
    [
        ("exit", "infra", "EXIT_7", 7),
        ("segfault", "infra", "SIGNAL_SIGSEGV", 128 + signal.SIGSEGV),
        ("kill", "infra", "SIGNAL_SIGKILL", 128 + signal.SIGKILL),
        ("raise", "transient", "KeyError", 0),
        ("permanent", "permanent", "ERR_NEVER", 0),
        ("system exit", "transient", "SystemExit", 0),
        ("not json", "permanent", "InvalidPayload", 0),
    ],
)
def test_a_crash_is_a_failure_of_that_run_alone(tasks: Any, way: str, kind: str, code: str, exit_code: int) -> None:
    job = ended(tasks, tasks.crash.enqueue(way=way))
    [run] = job.runs
    assert (run.error_kind, run.error_code, run.exit_code) == (kind, code, exit_code)
    assert "last words" in job.tail()
    assert (run.traceback is None) == (kind == "infra")


def test_skip_and_snooze_mean_the_same_as_inside(tasks: Any) -> None:
    skipped, snoozed = tasks.crash.enqueue(way="skip"), tasks.crash.enqueue(way="snooze")
    with tasks.hf:
        assert skipped.wait(WAIT) is StateName.DONE
        assert wait_until(lambda: snoozed.state is StateName.SCHEDULED)
    assert [job.runs[0].status for job in (skipped, snoozed)] == [RunStatus.SKIPPED, RunStatus.YIELDED]


def test_who_eats_more_memory_than_allowed_fails_alone(tasks: Any) -> None:
    small, big = tasks.eat.enqueue(megabytes=1), tasks.eat.enqueue(megabytes=4_000)
    with tasks.hf:
        assert small.result(WAIT) == 1 << 20
        assert big.wait(WAIT) is StateName.FAILED
    assert (big.runs[0].error_kind, big.runs[0].error_code) == ("infra", "MemoryError")


def cancelled(tasks: Any, task: str) -> JobHandle[Any]:
    job: JobHandle[Any] = getattr(tasks, task).enqueue()
    with tasks.hf:
        assert wait_until(lambda: "ready" in job.tail())
        job.cancel()
        assert job.wait(WAIT) is StateName.CANCELLED
    return job


@pytest.mark.parametrize("task", ["wait_politely", "wait_awaiting"])
def test_a_task_that_is_cancelled_may_tidy_up(tasks: Any, task: str) -> None:
    job = cancelled(tasks, task)
    assert ("tidied up" in job.tail(), job.runs[0].exit_code) == (True, 0)


def test_a_failure_that_the_request_to_stop_brought_about_is_the_stop(tasks: Any) -> None:
    job = cancelled(tasks, "wait_for_a_program")
    assert (job.runs[0].status, job.runs[0].traceback) == (RunStatus.CANCELLED, None)


def test_a_task_that_does_not_heed_is_killed_after_its_grace(tasks: Any) -> None:
    assert cancelled(tasks, "wait_deaf").runs[0].exit_code == 128 + signal.SIGKILL


def test_a_result_counts_even_if_its_process_does_not_end(tasks: Any) -> None:
    assert ended(tasks, tasks.hang_on_the_way_out.enqueue()).result() == "done"


def test_a_task_that_is_not_there_when_the_module_is_loaded_says_so(tasks: Any) -> None:
    tasks.make_one_more()
    job = tasks.hf.job(_enqueue(tasks.hf, "made_later"))
    ended(tasks, job)
    assert job.runs[0].error_code == "ERR_TASK_NOT_LOADED"
    assert "does not make a task 'made_later'" in (job.runs[0].error or "")


def _enqueue(hf: Holdfast, task: str) -> str:
    [answer] = hf._access.write(enqueue, [NewJob(id=hf._access.new_id(), task=task)], hf._access.now())
    assert answer.id is not None
    return answer.id


PROGRAM = """
from holdfast import Holdfast
hf = Holdfast("work.db")

@hf.task(subprocess=True, retry=0)
def where() -> str:
    return __name__

def main() -> None:
    job = where.enqueue()
    with hf:
        job.wait(60)
    print(job.runs[0].error or job.result())

{call}
"""


def output_of(folder: Path, program: str, *words: str) -> str:
    (folder / "program.py").write_text(program)
    done = subprocess.run([sys.executable, *words], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


GUARDED = PROGRAM.format(call='if __name__ == "__main__":\n    main()')


def test_a_task_of_the_started_file_is_loaded_from_it(tmp_path: Path) -> None:
    assert output_of(tmp_path, GUARDED, "program.py") == "__holdfast_main__"


def test_a_task_of_a_module_that_was_started_by_name_is_imported(tmp_path: Path) -> None:
    assert output_of(tmp_path, GUARDED, "-m", "program") == "program"


def test_a_program_that_would_start_itself_again_is_told_how_not_to(tmp_path: Path) -> None:
    said = output_of(tmp_path, PROGRAM.format(call="main()"), "program.py")
    assert "if __name__ == '__main__':" in said


def test_a_task_of_an_app_file_is_loaded_from_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # A module of the same name is somewhere else, and the file is not on the path of the process.
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    app = tmp_path / "app" / "json.py"
    app.parent.mkdir()
    app.write_text(GUARDED)
    original = sys.modules["json"]
    monkeypatch.setitem(sys.modules, "json", original)  # Before it is replaced: this is what comes back at the end.
    hf = program_loader.load(f"{app}:hf")
    assert isinstance(hf, Holdfast)
    sys.modules["json"] = original
    monkeypatch.setattr(sys, "path", sys.path[1:])
    job = hf.job(_enqueue(hf, "where"))
    with hf:
        assert job.result(WAIT) == "json"
    hf.close()


LIBRARY = """
from holdfast import Holdfast
hf = Holdfast("work.db")

def isolated(function):
    return hf.task(subprocess=True, retry=0)(function)
"""
WITH_LIBRARY = """
from library import hf, isolated

@isolated
def where() -> str:
    return __name__

if __name__ == "__main__":
    job = where.enqueue()
    with hf:
        print(job.result(60))
"""


def test_a_task_may_be_made_elsewhere_than_where_its_function_is(tmp_path: Path) -> None:
    (tmp_path / "library.py").write_text(LIBRARY)
    assert output_of(tmp_path, WITH_LIBRARY, "program.py") == "__holdfast_main__"


def test_a_task_without_a_file_is_refused() -> None:
    code = "from holdfast import Holdfast\nHoldfast('x.db').task(subprocess=True)(lambda: None)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert "no file that one could load" in done.stderr


@pytest.mark.parametrize("name", ["memory_mb", "cpu", "grace"])
def test_limits_are_for_processes(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidInput, match=f"{name}= is for a task in a process of its own"):
        Holdfast(tmp_path / "x.db").task(**{name: 1})  # type: ignore[call-overload]


def test_the_worker_goes_on_while_a_coroutine_blocks_its_event_loop(tasks: Any) -> None:
    blocked, go_on = threading.Event(), threading.Event()

    async def block() -> None:
        blocked.set()
        go_on.wait(WAIT)

    blocking = tasks.hf.task(block)
    with tasks.hf:
        job = blocking.enqueue()
        assert blocked.wait(WAIT)
        assert tasks.add.enqueue(a=1, b=2).result(WAIT) == 3
        doomed = tasks.wait_deaf.options(timeout=0.1).enqueue()
        assert doomed.wait(WAIT) is StateName.FAILED
        go_on.set()
        assert job.wait(WAIT) is StateName.DONE
