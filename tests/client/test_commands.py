"""Commands as jobs: what they are given, what their end means, and that nothing of them is left behind."""

from __future__ import annotations

import asyncio
import json
import signal
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from holdfast import Holdfast, InvalidInput, InvalidPayload, JobHandle, Retry, RunStatus, StateName
from holdfast.core.tasks.command import ARGUMENTS
from holdfast.runtime.clock import ManualClock
from holdfast.workers.builtin.command import SPEC
from holdfast.workers.process import memory
from tests.chaos.processes import KnownProcess, kill
from tests.client.acts import WAIT, wait_until
from tests.store.acts import execute

ONCE = Retry(0, infra=0)


def run(hf: Holdfast, *argv: str, **options: object) -> JobHandle[dict[str, int]]:
    """A command that has ended."""
    job = hf.command(*argv, retry=ONCE, **options)  # type: ignore[arg-type]
    with hf:
        job.wait(WAIT)
    return job


def sh(hf: Holdfast, script: str, **options: object) -> JobHandle[dict[str, int]]:
    return run(hf, "sh", "-c", script, **options)


def test_a_command_runs_and_its_output_is_the_log_of_its_run(hf: Holdfast) -> None:
    job = sh(hf, "echo one; echo two >&2")
    assert job.result() == {"exit_code": 0}
    [only] = job.runs
    assert (only.status, only.exit_code, only.pid is not None) == (RunStatus.COMPLETED, 0, True)
    part = job.read_log()
    assert (part.data, part.eof, part.run_id) == (b"one\ntwo\n", True, only.id)
    assert job.tail(1) == "two\n"


def test_a_command_can_be_awaited(hf: Holdfast) -> None:
    async def work() -> None:
        job = await hf.acommand("printf", "done")
        async with hf:
            assert await job == {"exit_code": 0}
        assert (await job.atail(), (await job.aread_log()).eof, await job.aartifacts()) == ("done", True, [])

    asyncio.run(work())


@pytest.mark.parametrize(
    ("script", "kind", "code", "exit_code"),
    [
        ("exit 1", "transient", "EXIT_1", 1),
        ("exit 75", "transient", "EXIT_75", 75),
        ("exit 64", "permanent", "EXIT_64", 64),
        ("exit 65", "permanent", "EXIT_65", 65),
        ("exit 78", "permanent", "EXIT_78", 78),
        ("kill -SEGV $$", "transient", "SIGNAL_SIGSEGV", 128 + signal.SIGSEGV),
        ("kill -KILL $$", "transient", "SIGNAL_SIGKILL", 128 + signal.SIGKILL),
        ("kill -TERM $$", "transient", "SIGNAL_SIGTERM", 128 + signal.SIGTERM),
    ],
)
def test_the_end_of_a_command_is_a_failure_of_its_kind(
    hf: Holdfast, script: str, kind: str, code: str, exit_code: int
) -> None:
    job = sh(hf, f"echo the last word; {script}")
    [only] = job.runs
    assert (only.error_kind, only.error_code, only.exit_code) == (kind, code, exit_code)
    assert "the last word" in (only.error or "")


def test_a_command_that_is_killed_uses_up_its_tries_and_nothing_else(hf: Holdfast) -> None:
    hf.set_queue("default", breaker=1)
    job = hf.command("sh", "-c", "kill -KILL $$", retry=Retry(4, initial=0))
    with hf:
        job.wait(WAIT)
        assert hf.command("true").result(WAIT) == {"exit_code": 0}
    assert len(job.runs) == 5
    assert (job.job.tries.transient, job.job.tries.infra, job.job.tries.deaths) == (5, 0, 0)
    assert getattr(job.job.state, "error_code", None) == "SIGNAL_SIGKILL"
    assert hf.dead_letters(poison=True).letters == []


def test_a_command_that_is_killed_once_without_retries_has_failed(hf: Holdfast) -> None:
    job = sh(hf, "kill -TERM $$")
    assert (len(job.runs), job.job.state.name) == (1, "FAILED")


@pytest.mark.parametrize("where", ["machine", "cgroup", "old cgroup"])
def test_a_command_that_is_killed_while_memory_runs_out_failed_by_the_machine(
    hf: Holdfast, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    monkeypatch.setattr(memory, "PROC", tmp_path / "proc")
    monkeypatch.setattr(memory, "CGROUPS", tmp_path / "cgroup")
    (tmp_path / "proc" / "self").mkdir(parents=True)
    (tmp_path / "proc" / "self" / "cgroup").write_text("4:cpu,memory:/ours\n0::/ours/inner\n")
    counter = (
        tmp_path
        / {
            "machine": "proc/vmstat",
            "cgroup": "cgroup/ours/inner/memory.events",
            "old cgroup": "cgroup/memory/ours/memory.oom_control",
        }[where]
    )
    counter.parent.mkdir(parents=True, exist_ok=True)
    counter.write_text("oom 3\noom_kill 7\noom_group_kill 9\n")
    [only] = sh(hf, f"echo oom_kill 8 > {counter}; kill -KILL $$").runs
    assert (only.error_kind, only.error_code, only.exit_code) == ("infra", "ERR_OUT_OF_MEMORY", 128 + signal.SIGKILL)
    assert only.error == "'sh' was killed because memory ran out"
    # The one without the other is no want of memory.
    assert [run.error_code for run in sh(hf, f"echo oom_kill 9 > {counter}; kill -TERM $$").runs] == ["SIGNAL_SIGTERM"]
    assert [run.error_code for run in sh(hf, "kill -KILL $$").runs] == ["SIGNAL_SIGKILL"]


def test_a_command_that_does_not_exist_fails_for_good(hf: Holdfast) -> None:
    job = hf.command("no-such-command", retry=5)
    with hf:
        job.wait(WAIT)
    [only] = job.runs
    assert (only.error_kind, only.error_code, only.exit_code) == ("permanent", "ERR_COMMAND_NOT_FOUND", None)


def test_a_command_sees_little_of_its_worker_and_who_it_is(
    hf: Holdfast, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SECRET_OF_THE_WORKER", "1")
    monkeypatch.setenv("TERM", "dumb")
    trace_id = "ab" * 16
    job = run(hf, "env", env={"MINE": "yes", "HOLDFAST_RUN_ID": "forged"}, cwd=tmp_path, trace_id=trace_id)
    seen = dict(line.split("=", 1) for line in job.tail(100).splitlines())
    ours = {"HOLDFAST_RUN_ID", "HOLDFAST_JOB_ID", "HOLDFAST_JOB_NUMBER", "HOLDFAST_ARTIFACTS", "TRACEPARENT", "MINE"}
    assert seen.keys() - {"PATH", "HOME", "USER", "LANG", "TERM"} == ours
    who = (seen["HOLDFAST_RUN_ID"], seen["HOLDFAST_JOB_ID"], seen["HOLDFAST_JOB_NUMBER"], seen["MINE"], seen["TERM"])
    assert who == (job.runs[0].id, job.id, str(job.number), "yes", "dumb")
    version, trace, span, flags = seen["TRACEPARENT"].split("-")
    assert (version, trace, len(span), flags) == ("00", trace_id, 16, "01")


def test_a_trace_of_any_name_becomes_one_that_others_can_read(hf: Holdfast) -> None:
    job = sh(hf, "echo $TRACEPARENT", trace_id="order 5")
    version, trace, span, _ = job.tail().strip().split("-")
    assert (version, len(trace), len(span), int(trace, 16) > 0) == ("00", 32, 16, True)


def test_a_command_leaves_artifacts(hf: Holdfast) -> None:
    job = sh(hf, "mkdir $HOLDFAST_ARTIFACTS/sub; echo hi > $HOLDFAST_ARTIFACTS/sub/a.txt")
    assert json.loads(job.runs[0].artifacts or "") == [{"name": "sub/a.txt", "size": 3}]
    assert [artifact.name for artifact in job.artifacts()] == ["sub/a.txt"]
    with job.open_artifact("sub/a.txt") as file:
        assert file.read() == b"hi\n"


FAMILY = """
trap '' TERM
sh -c "trap '' TERM; echo \\$\\$; while :; do sleep 1; done" &
echo $$; while :; do sleep 1; done
"""


def family_of(job: JobHandle[dict[str, int]]) -> list[KnownProcess]:
    """Both processes of the family. They have said their pids."""
    assert wait_until(lambda: len(job.tail().splitlines()) == 2)
    return [KnownProcess.of(int(line)) for line in job.tail().splitlines()]


def test_a_cancel_ends_a_stubborn_command_and_its_grandchildren(hf: Holdfast) -> None:
    with hf:
        job = hf.command("sh", "-c", FAMILY, grace=0.2)
        family = family_of(job)
        job.cancel()
        assert job.wait(WAIT) is StateName.CANCELLED
        assert [process for process in family if process.is_alive] == []
    assert job.runs[0].exit_code == 128 + signal.SIGKILL


def test_a_command_that_cleans_up_when_asked_is_not_killed(hf: Holdfast) -> None:
    with hf:
        job = hf.command("sh", "-c", "trap 'echo cleaned up; exit 0' TERM; echo ready; while :; do sleep 0.05; done")
        assert wait_until(lambda: "ready" in job.tail())
        job.cancel()
        assert job.wait(WAIT) is StateName.CANCELLED
    assert (job.tail(1), job.runs[0].status, job.runs[0].exit_code) == ("cleaned up\n", RunStatus.CANCELLED, 0)


def test_a_timeout_is_a_transient_failure(make_holdfast: Callable[..., Holdfast]) -> None:
    clock = ManualClock()
    hf = make_holdfast(clock=clock)
    with hf:
        job = hf.command("sh", "-c", "echo ready; exec sleep 3600", timeout=60, retry=ONCE)
        assert wait_until(lambda: "ready" in job.tail())
        clock.advance(61)
        assert job.wait(WAIT) is StateName.FAILED
    assert (job.runs[0].error_kind, job.runs[0].error_code) == ("transient", "ERR_TIMEOUT")


def test_the_deadline_stops_a_command(make_holdfast: Callable[..., Holdfast]) -> None:
    clock = ManualClock(datetime(2030, 1, 1, tzinfo=UTC))
    hf = make_holdfast(clock=clock)
    with hf:
        job = hf.command("sh", "-c", "echo ready; exec sleep 3600", deadline=datetime(2030, 1, 1, 0, 1, tzinfo=UTC))
        assert wait_until(lambda: "ready" in job.tail())
        clock.advance(61)
        assert job.wait(WAIT) is StateName.SKIPPED_DEADLINE


def test_an_orderly_stop_gives_a_command_back_and_leaves_no_process(hf: Holdfast) -> None:
    hf.start()
    job = hf.command("sh", "-c", FAMILY, grace=3600)
    family = family_of(job)
    hf.stop(short=0, grace=0)
    assert [process for process in family if process.is_alive] == []
    assert (job.state, job.runs[0].status, job.job.tries.infra) == (StateName.QUEUED, RunStatus.YIELDED, 0)


def test_what_a_command_leaves_in_the_background_ends_with_it(hf: Holdfast, tmp_path: Path) -> None:
    leave = "sleep 3600 >/dev/null 2>&1 & echo $!; while [ ! -e seen ]; do sleep 0.01; done"
    with hf:
        job = hf.command("sh", "-c", leave, grace=30, cwd=tmp_path)
        assert wait_until(lambda: job.tail() != "")
        left = KnownProcess.of(int(job.tail()))
        (tmp_path / "seen").touch()
        assert job.result(WAIT) == {"exit_code": 0}
    assert not left.is_alive


def test_somebody_who_left_the_session_with_the_output_keeps_nobody_waiting(hf: Holdfast, tmp_path: Path) -> None:
    leave = "setsid sh -c 'echo $$ > left; exec sleep 3600' & while [ ! -s left ]; do sleep 0.01; done"
    job = sh(hf, leave, cwd=tmp_path)
    assert job.result() == {"exit_code": 0}
    kill(KnownProcess.of(int((tmp_path / "left").read_text())))


def test_a_hundred_megabytes_of_output_are_rotated_and_can_be_tailed(hf: Holdfast) -> None:
    last = 12_000_000
    job = run(hf, "seq", str(last))
    end = job.read_log(limit=0).end
    assert end == sum((len(str(10**d)) + 1) * 9 * 10**d for d in range(7)) + (last - 10**7 + 1) * 9
    folder = Path(job.runs[0].log_path or "")
    kept = sum(segment.stat().st_size for segment in folder.iterdir())
    assert 48 << 20 <= kept <= 64 << 20
    assert job.tail(2) == f"{last - 1}\n{last}\n"
    first = job.read_log(0, 1_000)
    assert (first.offset, first.end) == (end - kept, end)
    behind = last - 1_000_000
    middle = job.read_log(end - 9 * 1_000_000, 9 * 100)
    assert middle.data.splitlines() == [b"%d" % number for number in range(behind + 1, behind + 101)]


@pytest.mark.parametrize(
    ("argv", "options", "says"),
    [
        ((), {}, "argv is empty"),
        (("",), {}, "argv is empty"),
        (("a\0b",), {}, "NUL"),
        (("a", "\ud800"), {}, "half a character"),
        (("a",), {"env": {"": "x"}}, "'' is no such name"),
        (("a",), {"env": {"A=B": "x"}}, "'A=B' is no such name"),
        (("a",), {"env": {"A": "x\0"}}, "NUL"),
        (("a",), {"env": {"A": 5}}, "'A' has no such text"),
        (("a",), {"memory_mb": 0}, "memory_mb"),
        (("a",), {"cpu": 0}, "cpu"),
        (("a",), {"grace": -1}, "grace"),
        (("a",), {"grace": 4_000}, "grace 4000 is not valid: use 0 s to 1 h"),
        ((5,), {}, "not an argument"),
        (("a",), {"nonsense": 1}, "not an option"),
    ],
)
def test_what_cannot_be_a_command_is_refused_before_it_is_stored(
    hf: Holdfast, argv: tuple[str, ...], options: dict[str, object], says: str
) -> None:
    with pytest.raises(InvalidInput, match=says):
        hf.command(*argv, **options)  # type: ignore[arg-type]
    assert hf.jobs().jobs == []


def test_a_bad_command_that_came_another_way_fails_for_good(hf: Holdfast) -> None:
    job = hf.command("true")
    execute(hf._access.engine, "UPDATE jobs SET payload = :p", p='{"argv":["true"],"cwd":"relative"}')
    with hf:
        job.wait(WAIT)
    assert (job.runs[0].error_kind, job.runs[0].error_code) == ("permanent", InvalidPayload.__name__)


def test_no_task_of_the_users_takes_the_name(hf: Holdfast) -> None:
    with pytest.raises(InvalidInput, match="there is a task 'command' already"):
        hf.task(lambda: None, name="command")  # type: ignore[call-overload]


def test_a_program_need_not_run_commands(make_holdfast: Callable[..., Holdfast]) -> None:
    hf = make_holdfast(commands=False)
    job = hf.command("true")
    assert hf.drain() == 0
    assert [gate.gate for gate in job.why().closed] == ["worker"]


def test_a_star_serves_the_commands_of_every_queue(make_holdfast: Callable[..., Holdfast]) -> None:
    hf = make_holdfast(concurrency={"*": 2})
    jobs = [hf.command("true", queue=queue) for queue in ("a", "b", "default", "c")]
    with hf:
        late = hf.command("true", queue="late")
        assert [job.wait(WAIT) for job in (*jobs, late)] == [StateName.DONE] * 5


def test_a_command_is_stored_with_the_arguments_that_it_has(hf: Holdfast) -> None:
    assert SPEC.schema.names == ARGUMENTS
    for wrong in ({"shell": True}, {"grace_s": None}):
        with pytest.raises(InvalidPayload, match=next(iter(wrong))):
            hf.enqueue("command", {"argv": ["true"], **wrong})
    assert hf.counts() == {}
