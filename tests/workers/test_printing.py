"""What the code of a run prints or logs is in the log of that run, and still seen where it was before."""

from __future__ import annotations

import asyncio
import io
import logging
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stdout
from pathlib import Path

import pytest

from holdfast import Context, Holdfast
from holdfast.observe.printed import rotate
from tests.client.acts import WAIT

lasting = ThreadPoolExecutor(1)
library = logging.getLogger("some.library")


@pytest.fixture
def hf(tmp_path: Path) -> Iterator[Holdfast]:
    """Nothing of it is left when the test is over."""
    before = (sys.stdout, sys.stderr, threading.Thread.start, ThreadPoolExecutor.submit, logging.Logger.callHandlers)
    yield Holdfast(tmp_path / "work.db")
    after = (sys.stdout, sys.stderr, threading.Thread.start, ThreadPoolExecutor.submit, logging.Logger.callHandlers)
    assert after == before


def log_of(hf: Holdfast, task: object) -> str:
    """The log of a task that was run."""
    job = task.enqueue()  # type: ignore[attr-defined]
    with hf:
        job.result(WAIT)
    return str(job.tail(1_000))


def test_a_coroutine_and_what_comes_from_it(hf: Holdfast, capsys: pytest.CaptureFixture[str]) -> None:
    @hf.task
    async def speak() -> None:
        print("itself")
        await asyncio.to_thread(print, "to_thread")
        await asyncio.get_running_loop().run_in_executor(None, print, "executor")
        await asyncio.create_task(asyncio.to_thread(print, "task"))

    said = "itself\nto_thread\nexecutor\ntask\n"
    assert log_of(hf, speak) == said
    assert capsys.readouterr().out == said


def test_a_function_and_the_threads_that_it_starts(hf: Holdfast, capsys: pytest.CaptureFixture[str]) -> None:
    def start(*args: str) -> None:
        thread = threading.Thread(target=print, args=args)
        thread.start()
        thread.join()

    @hf.task
    def speak() -> None:
        print("itself")
        start("thread")
        lasting.submit(start, "inner").result()
        lasting.submit(print, "pool").result()
        with ThreadPoolExecutor(1) as pool:
            list(pool.map(print, ["a", "b"]))
        timer = threading.Timer(0, print, ["timer"])
        timer.start()
        timer.join()

    said = "itself\nthread\ninner\npool\na\nb\ntimer\n"
    assert log_of(hf, speak) == said
    assert capsys.readouterr().out == said


def test_a_pool_that_was_started_by_one_run_serves_another_as_that_ones(hf: Holdfast) -> None:
    with ThreadPoolExecutor(1) as pool:

        @hf.task
        def speak(name: str) -> None:
            pool.submit(print, name).result()

        jobs = [speak.enqueue(name=name) for name in ("first", "second")]
        with hf:
            for job in jobs:
                job.result(WAIT)
    assert [job.tail() for job in jobs] == ["first\n", "second\n"]


def test_runs_at_once_do_not_mix(hf: Holdfast) -> None:
    together = threading.Barrier(3)

    @hf.task
    def speak(name: str) -> None:
        for number in range(20):
            together.wait(WAIT)
            print(name, end=" ")
            print(number)

    jobs = {name: speak.enqueue(name=name) for name in "abc"}
    with hf:
        for job in jobs.values():
            job.result(WAIT)
    for name, job in jobs.items():
        assert job.tail(100) == "".join(f"{name} {number}\n" for number in range(20))


def test_pieces_of_lines_and_both_streams_stay_in_order(hf: Holdfast, capsys: pytest.CaptureFixture[str]) -> None:
    @hf.task
    def speak(ctx: Context) -> None:
        print("half a ", end="")
        print("line\nand two more", file=sys.stderr)
        sys.stdout.writelines(["x", "y\n"])
        ctx.log.info("by the context")

    *lines, by_context = log_of(hf, speak).splitlines()
    assert lines == ["half a line", "and two more", "xy"]
    assert by_context.endswith("INFO    by the context")
    assert capsys.readouterr().err == "line\nand two more\n"


def test_bytes_below_a_stream(hf: Holdfast, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    @hf.task
    def speak() -> None:
        sys.stdout.buffer.write(b"bytes \xff\n")
        sys.stdout.flush()

    job = speak.enqueue()
    with hf:
        job.result(WAIT)
    assert b"bytes" in job.read_log().data
    assert capfdbinary.readouterr().out == b"bytes \xff\n"


def test_what_is_logged(hf: Holdfast, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)

    @hf.task
    async def speak() -> None:
        library.warning("number %d of %s", 1, "two")
        logging.getLogger().warning("%(a)s", {"a": "by the root"})
        library.info("not worth a line here")
        await asyncio.to_thread(library.error, "in a thread")
        try:
            raise ValueError("odd")
        except ValueError:
            library.exception("it failed")

    lines = log_of(hf, speak).splitlines()
    assert [line.partition("Z ")[2] for line in lines if "Z " in line] == [
        "WARNING some.library: number 1 of two",
        "WARNING by the root",
        "ERROR   some.library: in a thread",
        "ERROR   some.library: it failed",
    ]
    assert "ValueError: odd" in lines
    assert "number 1 of two" in caplog.text


def test_what_a_handler_prints_is_in_the_log_once(hf: Holdfast, capsys: pytest.CaptureFixture[str]) -> None:
    @hf.task
    def speak(ctx: Context) -> None:
        handler = logging.StreamHandler(sys.stderr)
        for name in ("some.library", "holdfast.task.speak"):
            logging.getLogger(name).addHandler(handler)
        try:
            library.warning("only once")
            ctx.log.warning("by the context")
        finally:
            for name in ("some.library", "holdfast.task.speak"):
                logging.getLogger(name).removeHandler(handler)

    said = log_of(hf, speak)
    assert (said.count("only once"), said.count("by the context")) == (1, 1)
    assert capsys.readouterr().err == "only once\nby the context\n"


def test_what_nobody_handles_is_still_shown(tmp_path: Path) -> None:
    program = f"""
import logging
from holdfast import Holdfast
hf = Holdfast({str(tmp_path / "work.db")!r})
@hf.task
def speak():
    logging.getLogger("some.library").warning("careful")
with hf:
    job = speak.enqueue()
    job.result({WAIT})
logging.basicConfig(format="MINE %(message)s")
logging.getLogger("some.library").warning("afterwards")
print(job.tail(), end="")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=WAIT, check=True)
    assert done.stderr == "careful\nMINE afterwards\n"
    assert done.stdout.endswith("WARNING some.library: careful\n")


def test_code_outside_of_runs_prints_as_ever(hf: Holdfast, capsys: pytest.CaptureFixture[str]) -> None:
    @hf.task
    def be_silent() -> None:
        pass

    job = be_silent.enqueue()
    with hf:
        job.result(WAIT)
        print("outside")
        thread = threading.Thread(target=print, args=["outside too"])
        thread.start()
        thread.join()
    assert capsys.readouterr().out == "outside\noutside too\n"
    assert (job.tail(), job.runs[0].log_path) == ("", None)


def test_a_thread_that_outlives_its_run_says_nothing_more_in_its_log(
    hf: Holdfast, capsys: pytest.CaptureFixture[str]
) -> None:
    over, threads = threading.Event(), []

    def linger() -> None:
        print("during")
        begun.set()
        over.wait(WAIT)
        print("after")

    begun = threading.Event()

    @hf.task
    def leave_a_thread() -> None:
        threads.append(threading.Thread(target=linger))
        threads[0].start()
        begun.wait(WAIT)

    job = leave_a_thread.enqueue()
    with hf:
        job.result(WAIT)
        over.set()
        threads[0].join()
    assert job.tail() == "during\n"
    assert capsys.readouterr().out == "during\nafter\n"


def test_a_stream_that_the_user_puts_there_is_the_users(hf: Holdfast, capsys: pytest.CaptureFixture[str]) -> None:
    mine = io.StringIO()

    @hf.task
    def speak() -> None:
        print("before")
        with redirect_stdout(mine):
            print("into mine")
        print("after")

    assert log_of(hf, speak) == "before\nafter\n"
    assert mine.getvalue() == "into mine\n"
    assert capsys.readouterr().out == "before\nafter\n"


def test_a_stream_that_replaces_ours_for_good_stays(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hf, mine, before = Holdfast(tmp_path / "work.db"), io.StringIO(), sys.stdout
    with hf:
        sys.stdout = mine
    try:
        assert sys.stdout is mine
        with hf:
            print("into mine")
        assert sys.stdout is mine
    finally:
        sys.stdout = before
    assert mine.getvalue() == "into mine\n"


def test_a_log_that_cannot_be_written_breaks_no_print(hf: Holdfast, capsys: pytest.CaptureFixture[str]) -> None:
    @hf.task
    def speak(ctx: Context) -> None:
        (folder := hf._access.engine.files).mkdir(exist_ok=True)
        (folder / ctx.job.id).write_text("no folder")
        # Where the warning of the log itself is printed, it must not lead back into the log.
        handler = logging.StreamHandler(sys.stderr)
        logging.getLogger("holdfast.worker").addHandler(handler)
        try:
            print("one")
            print("two", file=sys.stderr)
            ctx.log.info("three")
        finally:
            logging.getLogger("holdfast.worker").removeHandler(handler)

    job = speak.enqueue()
    with hf:
        job.result(WAIT)
    shown = capsys.readouterr()
    assert shown.out == "one\n"
    assert shown.err.count("cannot be written") == 1
    assert "two\n" in shown.err


def test_a_full_log_says_so_without_a_loop(
    hf: Holdfast, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from holdfast.tasks import files

    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    @hf.task
    def speak(ctx: Context) -> None:
        handler = logging.StreamHandler(sys.stderr)
        logging.getLogger("holdfast.worker").addHandler(handler)
        monkeypatch.setattr(files, "open_file", full)
        try:
            print("lost")
            ctx.log.info("lost too")
        finally:
            monkeypatch.undo()
            logging.getLogger("holdfast.worker").removeHandler(handler)
        print("found")

    said = log_of(hf, speak)
    assert "bytes of output were lost here" in said
    assert said.endswith("found\n")
    assert "output is lost until it can" in capsys.readouterr().err


def test_a_forked_child_prints_as_if_we_were_not_there(hf: Holdfast, capfd: pytest.CaptureFixture[str]) -> None:
    @hf.task
    def fork() -> int:
        child = os.fork()
        if child == 0:
            try:
                print("the child", flush=True)
            finally:
                os._exit(0)
        return os.waitpid(child, 0)[1]

    assert log_of(hf, fork) == ""
    assert "the child" in capfd.readouterr().out


def test_several_programs_in_one_process_hear_their_own_runs(tmp_path: Path) -> None:
    both = [Holdfast(tmp_path / name) for name in ("a.db", "b.db")]

    def speak(text: str) -> None:
        print(text)

    jobs = [hf.task(speak).enqueue(text=f"of {number}") for number, hf in enumerate(both)]
    with both[0], both[1]:
        jobs[0].result(WAIT)
        jobs[1].result(WAIT)
    assert [job.tail() for job in jobs] == ["of 0\n", "of 1\n"]


PRINTS_WHILE_IT_STOPS = """
import sys, threading
from holdfast import Holdfast

class SlowStream:
    began, may_go_on = threading.Event(), threading.Event()

    def write(self, text):
        self.began.set()
        self.may_go_on.wait(60)

    def flush(self):
        pass

before, sys.stdout = sys.stdout, SlowStream()
hf = Holdfast(sys.argv[1])
hf.start()
printing = threading.Thread(target=print, args=("text",))
printing.start()
SlowStream.began.wait(60)
hf.stop()
SlowStream.may_go_on.set()
printing.join()
before.write("it lives")
"""


@pytest.mark.processes
def test_a_thread_may_be_printing_when_the_program_stops(tmp_path: Path) -> None:
    command = [sys.executable, "-c", PRINTS_WHILE_IT_STOPS, str(tmp_path / "work.db")]
    # Python crashes if the stream is gone by then, and with this setting it does so each time.
    ended = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"PYTHONMALLOC": "debug"})
    assert (ended.stdout, ended.returncode) == ("it lives", 0), ended.stderr


def test_a_file_that_is_too_long_begins_anew_in_its_place(tmp_path: Path) -> None:
    path = tmp_path / "daemon.err"
    assert not rotate(path, 10, 2)
    with path.open("ab", buffering=0) as printed:
        for piece in (b"first " * 3, b"second " * 3, b"third " * 3):
            printed.write(piece)
            assert rotate(path, 10, 2)
            assert not rotate(path, 10, 2)
        printed.write(b"fourth")
    kept = [file.read_bytes()[:5] for file in (path, tmp_path / "daemon.err.1", tmp_path / "daemon.err.2")]
    assert kept == [b"fourt", b"third", b"secon"]
    assert sorted(file.name for file in tmp_path.iterdir()) == ["daemon.err", "daemon.err.1", "daemon.err.2"]
    assert (tmp_path / "daemon.err.1").stat().st_mode & 0o077 == 0
