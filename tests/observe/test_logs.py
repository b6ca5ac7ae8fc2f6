"""Log lines: their fields, their two formats, their file."""

import io
import json
import logging
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from holdfast.observe import trace
from holdfast.observe.logs import NEIGHBOURS, ROOT, LogFile, set_up

FULL = Path("/dev/full")


class Terminal(io.StringIO):
    """Text that believes to be shown."""

    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def _loggers_as_they_were() -> Iterator[None]:
    loggers = [logging.getLogger(name) for name in ("", ROOT, *NEIGHBOURS)]
    before = [(logger.handlers[:], logger.level, logger.propagate) for logger in loggers]
    yield
    logging.captureWarnings(False)
    for logger, (handlers, level, propagate) in zip(loggers, before, strict=True):
        for handler in set(logger.handlers) - set(handlers):
            handler.close()
        logger.handlers[:], logger.propagate = handlers, propagate
        logger.setLevel(level)


def logged(name: str, *args: Any, **kw: Any) -> dict[str, Any]:
    """The line that a warning becomes."""
    stream = io.StringIO()
    set_up(stream=stream)
    logging.getLogger(name).warning(*args, **kw)
    line: dict[str, Any] = json.loads(stream.getvalue())
    return line


def test_a_line_has_the_fields_that_a_machine_looks_for() -> None:
    line = logged(
        "holdfast.store.sqlite",
        "job %s makes room",
        "job-abc",
        extra={"event": "job_superseded", "job_id": "job-abc", "trace_id": "req-123", "old_gen": 1},
    )
    assert line.pop("ts").endswith("Z")
    assert line == {
        "level": "WARNING",
        "trace_id": "req-123",
        "component": "store",
        "event": "job_superseded",
        "message": "job job-abc makes room",
        "job_id": "job-abc",
        "old_gen": 1,
    }


@pytest.mark.parametrize(
    ("name", "component"),
    [("holdfast", "holdfast"), ("holdfast.task.index", "task"), ("uvicorn.error", "uvicorn"), ("asyncio", "asyncio")],
)
def test_the_logger_says_which_part_speaks(name: str, component: str) -> None:
    assert logged(name, "hello")["component"] == component


@pytest.mark.parametrize(
    ("message", "args", "event"),
    [
        ("worker %d ended with code %s after %.1f s", (1, 2, 3.0), "worker_ended_with_code_after"),
        ("%s", ("anything",), "daemon"),
        ("listening on %s", ("a socket",), "listening_on"),
    ],
)
def test_without_a_word_for_it_the_wording_makes_the_event(message: str, args: tuple[Any, ...], event: str) -> None:
    assert logged("holdfast.daemon", message, *args)["event"] == event


@pytest.mark.parametrize("name", ["holdfast.task.index", "uvicorn.error", "mine"])
def test_the_wording_of_others_makes_no_event(name: str) -> None:
    if name == "mine":
        stream = io.StringIO()
        handler = set_up(stream=stream, of_everybody=True)
        logging.getLogger(name).warning("password=hunter2")
        logging.getLogger().removeHandler(handler)
        line = json.loads(stream.getvalue())
    else:
        line = logged(name, "password=hunter2")
    assert line["event"] == "message"
    assert "hunter2" not in json.dumps(line)


def test_a_line_belongs_to_the_trace_of_the_code_that_logs() -> None:
    here = trace.make()
    with trace.using(here):
        assert logged("holdfast.api", "hello")["trace_id"] == here.trace_id
    assert logged("holdfast.api", "hello")["trace_id"] is None


def test_an_exception_is_a_field() -> None:
    try:
        raise KeyError("page")
    except KeyError:
        line = logged("holdfast.api", "it failed", exc_info=True)
    assert line["exception"]["type"] == "KeyError"
    assert line["exception"]["traceback"].startswith("Traceback")


def test_secrets_never_reach_the_line() -> None:
    try:
        raise ValueError("token=hunter2")
    except ValueError:
        line = logged("holdfast.api", "password=%s", "hunter2", extra={"deep": {"api_key": "hunter2"}}, exc_info=True)
    assert "hunter2" not in json.dumps(line)


@pytest.mark.parametrize("value", ["\ud800", {("a", "b"): 1}, 10**400, object(), {1, 2}, b"\xff", float("inf")])
def test_a_value_that_is_no_json_does_not_lose_the_line(value: object) -> None:
    assert logged("holdfast.api", "look at %r", value, extra={"value": value})["event"] == "look_at"


def test_a_message_that_does_not_fit_its_values_is_shown_all_the_same() -> None:
    assert logged("holdfast.api", "one %d", "two")["message"] == "one %d ('two',)"


def test_a_person_at_a_terminal_gets_a_coloured_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    screen = Terminal()
    set_up(stream=screen)
    logging.getLogger("holdfast.daemon").warning("it is late", extra={"job_id": 5})
    assert "\033[33mWARNING\033[0m daemon: it is late" in screen.getvalue()
    assert "job_id=5" in screen.getvalue()


def test_who_wants_no_colour_gets_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    screen = Terminal()
    set_up(stream=screen)
    logging.getLogger("holdfast.daemon").warning("it is late")
    assert "daemon: it is late" in screen.getvalue()
    assert "\033" not in screen.getvalue()


def test_a_persons_format_can_be_asked_for_anywhere() -> None:
    stream = io.StringIO()
    set_up(stream=stream, format="text")
    logging.getLogger("holdfast.daemon").info("hello")
    assert stream.getvalue().endswith("INFO    daemon: hello\n")


def test_what_is_below_the_level_is_left_out() -> None:
    stream = io.StringIO()
    set_up(stream=stream, level="warning")
    logging.getLogger("holdfast.daemon").info("hello")
    assert stream.getvalue() == ""


def test_a_second_set_up_replaces_the_first() -> None:
    first, second = io.StringIO(), io.StringIO()
    set_up(stream=first)
    set_up(stream=second)
    logging.getLogger("holdfast.daemon").warning("hello")
    assert first.getvalue() == ""
    assert len(second.getvalue().splitlines()) == 1


def test_a_file_makes_room_and_only_its_owner_reads_it(tmp_path: Path) -> None:
    file = tmp_path / "logs" / "daemon.log"
    set_up(file=file, max_bytes=1_000, keep=2)
    for number in range(100):
        logging.getLogger("holdfast.daemon").warning("line %d", number)
    found = sorted(path.name for path in file.parent.iterdir())
    assert found == ["daemon.log", "daemon.log.1", "daemon.log.2"]
    assert all(path.stat().st_size <= 1_000 for path in file.parent.iterdir())
    assert json.loads(file.read_text().splitlines()[-1])["message"] == "line 99"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


@pytest.mark.skipif(not FULL.exists(), reason="this system has no device that is always full")
def test_a_line_that_cannot_be_written_is_counted_and_troubles_nobody(capsys: pytest.CaptureFixture[str]) -> None:
    handler = LogFile(FULL, 0, 0)
    logger = logging.getLogger("holdfast.full")
    logger.addHandler(handler)
    logger.warning("nobody will read this")
    logger.removeHandler(handler)
    handler.close()
    assert handler.dropped == 1
    assert capsys.readouterr().err == ""
