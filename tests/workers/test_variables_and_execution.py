"""A job has variables of its own, and may be run in a process of its own, whatever its task says."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from holdfast import Holdfast, InvalidInput, JobHandle, Retry
from holdfast.core.jobs.requests import NewJob
from holdfast.store.scripts.jobs.enqueue import enqueue
from tests.client.acts import WAIT
from tests.store.acts import execute
from tests.workers.task_modules import loaded_anew

ROOT = Path(__file__).parents[2]
MODULE = "tests.workers.plain_tasks"


@pytest.fixture
def tasks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The module of the tasks, loaded anew on a database of its own."""
    monkeypatch.setenv("PLAIN_DB", str(tmp_path / "work.db"))
    monkeypatch.setenv("COLOUR", "of the worker")
    with loaded_anew(MODULE) as module:
        yield module


def result(tasks: Any, job: JobHandle[Any]) -> Any:
    with tasks.hf:
        return job.result(WAIT)


@pytest.mark.parametrize("name", ["tell", "tell_later"])
def test_inside_a_worker_variables_are_those_of_the_run_alone(tasks: Any, name: str) -> None:
    job = getattr(tasks, name).options(env={"COLOUR": "red"}).enqueue()
    found = result(tasks, job)
    assert (found["pid"], found["ctx"], found["environ"]) == (os.getpid(), {"COLOUR": "red"}, "of the worker")
    assert (job.job.env, job.job.execution) == ({"COLOUR": "red"}, "in_process")


def test_what_always_has_a_process_of_its_own_says_so(tasks: Any) -> None:
    jobs = [tasks.always_alone.enqueue(), tasks.hf.command("true"), tasks.hf.enqueue("command", {"argv": ["true"]})]
    assert [job.job.execution for job in jobs] == ["subprocess"] * 3


def test_a_task_of_another_holdfast_with_the_same_name_is_not_taken_for_it(tasks: Any) -> None:
    jobs = [tasks.tell.options(execution="subprocess").enqueue(), tasks.always_alone.enqueue()]
    found = [result(tasks, job) for job in jobs]
    assert [found[0]["pid"], found[1]] == [job.runs[0].pid for job in jobs]


def test_a_holdfast_that_nobody_has_any_more_is_closed(tmp_path: Path) -> None:
    def make() -> weakref.ref[Holdfast]:
        hf = Holdfast(tmp_path / "gone.db")

        @hf.task
        def work() -> None:
            hf.queues()

        return weakref.ref(hf)

    made = make()
    gc.collect()
    assert made() is None


@pytest.mark.parametrize("name", ["tell", "tell_later"])
def test_a_plain_task_runs_in_a_process_of_its_own_for_one_job(tasks: Any, name: str) -> None:
    job = getattr(tasks, name).options(execution="subprocess", env={"COLOUR": "red"}).enqueue()
    found = result(tasks, job)
    [run] = job.runs
    assert (found["pid"], run.pid == found["pid"], found["ctx"], found["environ"]) == (
        run.pid,
        found["pid"] != os.getpid(),
        {"COLOUR": "red"},
        "red",
    )
    assert job.job.execution == "subprocess"


def test_a_task_says_it_for_its_jobs_and_a_job_says_otherwise(tasks: Any) -> None:
    alone = tasks.tell_alone.enqueue()
    named = tasks.hf.enqueue("tell_alone", env={"HOLDFAST_RUN_ID": "forged"})
    with tasks.hf:
        first, second = alone.result(WAIT), named.result(WAIT)
    assert (first["environ"], first["pid"] != os.getpid()) == ("of the task", True)
    assert (second["environ"], second["forged"]) == ("of the worker", named.runs[0].id)
    inside = tasks.tell_alone.options(execution="in_process", env={}).enqueue()
    with tasks.hf:
        inside.wait(WAIT)
    assert (inside.runs[0].pid, inside.job.env) == (None, None)


@pytest.mark.parametrize("retry", [Retry(1, initial=0), Retry(1, initial=0, mode="chain")])
def test_both_are_kept_by_every_kind_of_retry(tasks: Any, retry: Retry) -> None:
    asked = tasks.fail_first.options(execution="subprocess", env={"COLOUR": "red"}, retry=retry)
    job = asked.enqueue()
    found = result(tasks, job)
    again = job.retry()
    assert (found["environ"], found["pid"] != os.getpid()) == ("red", True)
    assert (again.job.env, again.job.execution) == ({"COLOUR": "red"}, "subprocess")


def test_a_crash_ends_the_process_of_the_job_alone(tasks: Any) -> None:
    job = tasks.crash.options(execution="subprocess").enqueue()
    with tasks.hf:
        job.wait(WAIT)
        assert tasks.tell.enqueue().result(WAIT)["pid"] == os.getpid()
    assert (job.runs[0].error_code, job.runs[0].exit_code) == ("EXIT_3", 3)


def test_templates_have_both(tasks: Any) -> None:
    tasks.hf.create_template("t", tasks.tell, env={"COLOUR": "red"}, execution="subprocess")
    job = tasks.hf.enqueue_template("t")
    other = tasks.hf.enqueue_template("t", env={"COLOUR": "blue"}, execution="in_process")
    with tasks.hf:
        assert (job.result(WAIT)["environ"], job.runs[0].pid is None) == ("red", False)
        assert (other.result(WAIT)["ctx"], other.runs[0].pid is None) == ({"COLOUR": "blue"}, True)


def test_long_variables_arrive_and_lists_leave_them_out(tasks: Any) -> None:
    long = {f"V{number}": "x" * 100_000 for number in range(3)}
    job = tasks.tell.options(env=long).enqueue()
    assert result(tasks, job)["ctx"] == long
    [listed] = tasks.hf.jobs().jobs
    assert (listed.env, listed.cut["env"].bytes > 300_000) == (None, True)


def test_a_command_has_them_out_of_its_payload(tasks: Any) -> None:
    job = tasks.hf.command("sh", "-c", "echo $COLOUR", env={"COLOUR": "red"})
    called = tasks.hf.command_call("sh", "-c", "echo $COLOUR", env={"COLOUR": "blue"})
    [member] = tasks.hf.group(called).jobs
    with tasks.hf:
        job.wait(WAIT)
        member.wait(WAIT)
    assert (job.tail(), member.tail()) == ("red\n", "blue\n")
    assert "env" not in json.loads(job.job.payload or "")
    assert (job.job.env, job.runs[0].params_snapshot) == ({"COLOUR": "red"}, job.job.payload)


def test_a_payload_of_an_earlier_version_still_has_them_and_the_option_wins(tasks: Any) -> None:
    payload = json.dumps({"argv": ["sh", "-c", "echo $COLOUR $SHAPE"], "env": {"COLOUR": "red", "SHAPE": "round"}})
    old, both = tasks.hf._access.new_id(), tasks.hf._access.new_id()
    jobs = [
        NewJob(id=old, task="command", payload=payload),
        NewJob(id=both, task="command", payload=payload, env={"COLOUR": "blue"}),
    ]
    tasks.hf._access.write(enqueue, jobs, tasks.hf._access.clock.now())
    first, second = tasks.hf.job(old), tasks.hf.job(both)
    with tasks.hf:
        first.wait(WAIT)
        second.wait(WAIT)
    assert (first.tail(), second.tail()) == ("red round\n", "blue round\n")


def test_a_stored_command_starts_with_more_and_longer_variables_than_may_be_stored_now(tasks: Any) -> None:
    job = tasks.hf.command("sh", "-c", "env | grep -c ^MANY_")
    env = {f"MANY_{number}": "x" for number in range(1_001)} | {"MANY_" + "x" * 300: "x"}
    payload = json.dumps({"argv": ["sh", "-c", "env | grep -c ^MANY_"], "env": env})
    execute(tasks.hf._access.engine, "UPDATE jobs SET payload = :p", p=payload)
    with tasks.hf:
        job.wait(WAIT)
    assert job.tail() == "1002\n"


@pytest.mark.parametrize(
    ("env", "said"),
    [
        ("red", "env is not valid: use at most 1000 names"),
        ({"A": 1}, "'A' has no such text"),
        ({"A=B": "x"}, "'A=B' is no such name"),
        ({"A": "\0"}, "no NUL; 'A' has no such text"),
        ({"A" * 256: "x"}, "1 to 255 characters"),
        ({"A": "x" * ((1 << 17) + 1)}, "at most 131072 whole characters"),
        ({f"A{number}": "x" for number in range(1_001)}, "at most 1000"),
        ({f"A{number}": "x" * 100_000 for number in range(11)}, "the limit is 1048576"),
    ],
)
def test_what_no_process_could_have_is_refused(tasks: Any, env: Any, said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        tasks.tell.options(env=env).enqueue()


def test_a_secret_is_not_in_a_message_or_a_representation(tasks: Any) -> None:
    wrong: tuple[Any, ...] = ({"MINE": "hunter2\0"}, "MINE=hunter2", ["MINE=hunter2"])
    for env in wrong:
        with pytest.raises(InvalidInput) as refused:
            tasks.tell.options(env=env).enqueue()
        assert "hunter2" not in str(refused.value)
    assert "hunter2" not in repr(tasks.tell.options(env={"API_TOKEN": "hunter2"}))


def test_what_always_has_a_process_of_its_own_cannot_be_run_inside(tasks: Any) -> None:
    with pytest.raises(InvalidInput, match="always runs in a process of its own"):
        tasks.always_alone.options(execution="in_process").enqueue()
    with pytest.raises(InvalidInput, match="always runs in a process of its own"):
        tasks.hf.command("true", execution="in_process")
    with pytest.raises(InvalidInput, match="use one of 'in_process', 'subprocess'"):
        tasks.tell.options(execution="thread").enqueue()


def test_a_task_that_the_module_does_not_make_by_itself_fails_and_says_so(tasks: Any) -> None:
    job = tasks.make_nested().options(execution="subprocess").enqueue()
    with tasks.hf:
        job.wait(WAIT)
    [run] = job.runs
    assert (run.error_kind, run.error_code) == ("permanent", "ERR_TASK_NOT_LOADED")
    assert "does not make a task 'nested'" in (run.error or "")


def test_a_task_of_no_file_is_refused_and_fails_for_those_who_know_it_by_name(tmp_path: Path) -> None:
    program = f"""
from holdfast import Holdfast, InvalidInput
hf = Holdfast({str(tmp_path / "typed.db")!r})
@hf.task
def typed() -> int:
    return 1
try:
    typed.options(execution="subprocess").enqueue()
except InvalidInput as error:
    print(error)
job = hf.enqueue("typed", execution="subprocess")
with hf:
    job.wait({WAIT})
print(job.runs[0].error_kind, job.runs[0].error_code)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.splitlines() == [
        "task 'typed' cannot run in a process of its own: it is defined in no file that one could load",
        "permanent ERR_TASK_NOT_LOADED",
    ]


def test_a_script_runs_its_own_task_in_a_process_of_its_own(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(f"""
import os
from holdfast import Holdfast
hf = Holdfast({str(tmp_path / "script.db")!r})
@hf.task
def who() -> int:
    return os.getpid()
if __name__ == "__main__":
    with hf:
        print(who.options(execution="subprocess").enqueue().result({WAIT}) != os.getpid())
""")
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "True\n"


def test_a_worker_of_another_program_finds_the_task_by_its_name(tasks: Any) -> None:
    other = Holdfast(os.environ["PLAIN_DB"], commands=False)
    job = other.enqueue("tell", execution="subprocess", env={"COLOUR": "red"})
    found = result(tasks, job)
    other.close()
    assert (found["environ"], found["pid"] != os.getpid()) == ("red", True)
