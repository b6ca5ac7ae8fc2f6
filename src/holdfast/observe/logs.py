"""Logs through the standard library: JSON lines for machines, a plain line for a person at a terminal.

A record may have fields by `extra={…}`. `event` is a stable word for what happened. Without it, the text of the message
makes one. What looks secret is hidden before it is written.
"""

from __future__ import annotations

import logging
import os
import re
import sys
import traceback
from contextlib import suppress
from datetime import UTC, datetime
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import IO, Any, Literal, TypeAlias

import msgspec

from holdfast.observe import trace, user
from holdfast.observe.redact import redacted, redacted_text
from holdfast.observe.terminal import in_a_line, in_json, in_lines
from holdfast.private_files import for_owner_alone, make_private_folder

Format: TypeAlias = Literal["auto", "json", "text"]
ROOT = "holdfast"
TASK = "task"
# Loggers of libraries whose messages are about the daemon.
NEIGHBOURS = ("uvicorn", "asyncio", "opentelemetry", "py.warnings")
MAX_BYTES = 10 << 20
KEEP = 5

_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {
    "message",
    "asctime",
    "taskName",
    "event",
    "trace_id",
    "color_message",
}
_PLACEHOLDER = re.compile(r"%(?:\(\w+\))?[-#0 +]*+[\d.*]*+[a-zA-Z%]|\{[^{}]*\}")
_WORD = re.compile(r"[a-z0-9]+")
_WORDS_IN_EVENT = 5
_COLOURS = {"DEBUG": "90", "INFO": "36", "WARNING": "33", "ERROR": "31", "CRITICAL": "1;31"}


def set_up(
    *,
    format: Format = "auto",
    level: str = "info",
    file: Path | None = None,
    max_bytes: int = MAX_BYTES,
    keep: int = KEEP,
    stream: IO[str] | None = None,
    of_everybody: bool = False,
) -> logging.Handler:
    """Send what Holdfast logs to a file, or to stderr. A second call replaces the first.

    With `auto`, a terminal gets lines for people, and everything else gets JSON. With `of_everybody`, the rest of the
    program logs there too.
    """
    to = stream or sys.stderr
    handler: logging.Handler
    handler = LogFile(file, max_bytes, keep) if file is not None else logging.StreamHandler(to)
    on_terminal = file is None and to.isatty()
    if format == "text" or (format == "auto" and on_terminal):
        handler.setFormatter(PersonFormatter(colour=on_terminal and "NO_COLOR" not in os.environ))
    else:
        handler.setFormatter(JsonFormatter())
    handler.name = ROOT
    for name in ("", ROOT, *NEIGHBOURS) if of_everybody else (ROOT, *NEIGHBOURS):
        logger = logging.getLogger(name)
        for old in [old for old in logger.handlers if old.name == ROOT]:
            logger.removeHandler(old)
            old.close()
        logger.addHandler(handler)
        logger.setLevel(logging.WARNING if name in NEIGHBOURS else level.upper())
        logger.propagate = False
    logging.captureWarnings(True)
    return handler


class JsonFormatter(logging.Formatter):
    """One JSON object for each record: level, ts, trace_id, component, event, message, and the fields of `extra`."""

    def format(self, record: logging.LogRecord) -> str:
        fields: dict[str, Any] = {
            "level": record.levelname,
            "ts": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "trace_id": trace_id_of(record),
            "component": component_of(record),
            "event": event_of(record),
            "message": message_of(record),
            **redacted(extra_of(record)),
        }
        if record.exc_info and record.exc_info[1] is not None:
            fields["exception"] = _exception(record.exc_info[1])
        try:
            return in_json(msgspec.json.encode(fields, enc_hook=repr).decode())
        except Exception:
            # Half a character, a key that is no text, or infinity: shown in ASCII, which always works.
            return msgspec.json.encode({key: _in_ascii(value) for key, value in fields.items()}).decode()


class PersonFormatter(logging.Formatter):
    """Time, level, component, message, and the fields of `extra`."""

    def __init__(self, *, colour: bool = False) -> None:
        super().__init__()
        self._colour = colour

    def format(self, record: logging.LogRecord) -> str:
        clock = datetime.fromtimestamp(record.created).strftime("%H:%M:%S")
        level = f"{record.levelname:<7}"
        more = in_a_line("".join(f" {key}={value}" for key, value in redacted(extra_of(record)).items()))
        if self._colour:
            level = f"\033[{_COLOURS.get(record.levelname, '0')}m{level}\033[0m"
            more = f"\033[90m{more}\033[0m" if more else ""
        line = f"{clock} {level} {in_a_line(f'{component_of(record)}: {message_of(record)}')}{more}"
        if record.exc_info and record.exc_info[1] is not None:
            line += "\n" + in_lines(_exception(record.exc_info[1])["traceback"].rstrip())
        return line


class LogFile(RotatingFileHandler):
    """A file that only its owner can read. It is rotated when it is full. Lines that cannot be written are counted."""

    def __init__(self, path: Path, max_bytes: int, keep: int) -> None:
        self.dropped = 0
        make_private_folder(path.parent)
        super().__init__(path, maxBytes=max_bytes, backupCount=keep, encoding="utf-8", errors="backslashreplace")

    def _open(self) -> Any:
        return open(
            self.baseFilename,
            self.mode,
            encoding=self.encoding,
            errors=self.errors,
            opener=for_owner_alone,
        )

    def handleError(self, record: logging.LogRecord) -> None:
        # If the disk is full, stderr is not filled as well. The metrics tell of it.
        self.dropped += 1

    def close(self) -> None:
        # What could not be written before cannot be written at the end either.
        with suppress(OSError):
            super().close()


def component_of(record: logging.LogRecord) -> str:
    """The part that logs: the second word of `holdfast.store.sqlite`, the first of `uvicorn.error`."""
    first, _, rest = record.name.partition(".")
    return rest.partition(".")[0] if first == ROOT and rest else first


def event_of(record: logging.LogRecord) -> str:
    """A stable word for what happened. It does not depend on the values in the message."""
    given = getattr(record, "event", None)
    if isinstance(given, str) and given:
        return given
    if not record.name.startswith(f"{ROOT}.") or component_of(record) == TASK:
        # A message of another library, with values in it, makes no stable word.
        return "message"
    words = _WORD.findall(_PLACEHOLDER.sub(" ", str(record.msg)).lower())
    return "_".join(words[:_WORDS_IN_EVENT]) or component_of(record)


def trace_id_of(record: logging.LogRecord) -> str | None:
    """The trace that a record names, or that of the code that logs."""
    given = getattr(record, "trace_id", None)
    if isinstance(given, str):
        return given
    return trace.current_id()


def message_of(record: logging.LogRecord) -> str:
    """The message with its values. If they do not fit, the message is shown without them: a log line never fails."""
    try:
        return redacted_text(record.getMessage())
    except Exception:
        return redacted_text(f"{record.msg} {record.args!r}")


def extra_of(record: logging.LogRecord) -> dict[str, Any]:
    """The fields that the caller added to the record, and the user for whom this is done."""
    name = user.current()
    added = {key: value for key, value in vars(record).items() if key not in _STANDARD and not key.startswith("_")}
    return added if name is None else {"user": name} | added


def _in_ascii(value: Any) -> Any:
    try:
        return (
            value
            if value is None
            else value.encode("ascii", "backslashreplace").decode()
            if isinstance(value, str)
            else ascii(value)
        )
    except Exception:
        return f"a {type(value).__name__} that cannot be shown"


def _exception(error: BaseException) -> dict[str, str]:
    lines = "".join(traceback.format_exception(error))
    return {"type": type(error).__name__, "message": redacted_text(str(error)), "traceback": redacted_text(lines)}
