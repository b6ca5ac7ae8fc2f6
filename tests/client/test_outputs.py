"""What a task inside its worker says and makes is kept with its run, like what a program says."""

from __future__ import annotations

import json
import logging

import pytest

from holdfast import Context, Holdfast, InvalidInput, NotFound


def test_what_a_task_logs_is_in_the_log_of_its_run(hf: Holdfast) -> None:
    @hf.task
    def speak(ctx: Context) -> None:
        ctx.log.info("a %s line", "good")
        try:
            raise ValueError("a bad one")
        except ValueError:
            ctx.log.exception("it failed")

    job = speak.enqueue()
    hf.drain()
    lines = job.tail(100).splitlines()
    assert lines[0].endswith("Z INFO    a good line")
    assert lines[1].endswith("Z ERROR   it failed")
    assert lines[-1] == "ValueError: a bad one"
    assert job.runs[0].log_path


def test_the_log_of_a_run_does_not_depend_on_the_logging_of_the_program(
    hf: Holdfast, caplog: pytest.LogCaptureFixture
) -> None:
    @hf.task
    def speak(ctx: Context) -> None:
        ctx.log.info("quiet")
        ctx.log.debug("quieter")
        ctx.log.warning("bad arguments %d %d", 1)

    job = speak.enqueue()
    caplog.set_level(logging.ERROR)
    hf.drain()
    assert [line.split(maxsplit=2)[2] for line in job.tail().splitlines()] == ["quiet", "bad arguments %d %d (1,)"]


def test_a_record_names_the_line_that_logged_it(hf: Holdfast, caplog: pytest.LogCaptureFixture) -> None:
    @hf.task
    def speak(ctx: Context) -> None:
        ctx.log.info("from here")

    speak.enqueue()
    caplog.set_level(logging.INFO, "holdfast.task")
    hf.drain()
    [record] = [record for record in caplog.records if record.getMessage() == "from here"]
    assert (record.funcName, record.pathname) == ("speak", __file__)


def test_artifacts_are_listed_on_the_run_and_can_be_read(hf: Holdfast) -> None:
    @hf.task
    async def report(ctx: Context) -> None:
        ctx.artifact("report.html").write_text("<p>")
        ctx.artifact("plots/a.png").write_bytes(b"12345")

    job = report.enqueue()
    hf.drain()
    assert json.loads(job.runs[0].artifacts or "") == [
        {"name": "plots/a.png", "size": 5},
        {"name": "report.html", "size": 3},
    ]
    with job.open_artifact("report.html") as file:
        assert file.read() == b"<p>"
    with pytest.raises(NotFound, match=r"no artifact 'x'"):
        job.open_artifact("x")


def test_an_artifact_stays_in_its_folder(hf: Holdfast) -> None:
    @hf.task
    def escape(ctx: Context) -> str:
        with pytest.raises(InvalidInput, match="stays in its folder"):
            ctx.artifact("../escaped")
        return "refused"

    job = escape.enqueue()
    hf.drain()
    assert (job.result(), job.runs[0].artifacts) == ("refused", None)


def test_a_task_that_says_nothing_leaves_no_files(hf: Holdfast) -> None:
    @hf.task
    def nothing() -> None: ...

    job = nothing.enqueue()
    hf.drain()
    assert (job.runs[0].log_path, job.runs[0].artifacts, job.read_log().eof) == (None, None, True)
    assert not hf._access.engine.files.exists()


def test_a_log_that_cannot_be_written_breaks_no_task(hf: Holdfast, caplog: pytest.LogCaptureFixture) -> None:
    @hf.task
    def speak(ctx: Context) -> str:
        ctx.log.info("one")
        ctx.log.info("two")
        return "done"

    hf._access.engine.files.write_text("a file where the folder should be")
    job = speak.enqueue()
    hf.drain()
    assert job.result() == "done"
    assert [record.message for record in caplog.records if "cannot be written" in record.message] != []
