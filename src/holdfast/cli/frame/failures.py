"""How a command fails: with one line that says what to do, and an exit code."""

from __future__ import annotations

import logging
import os
import re
import sys
from typing import Any

import click

FAILED, USAGE, NO_DAEMON = 1, 2, 3
NOT_EXECUTABLE, NOT_FOUND = 126, 127
INTERRUPTED, BROKEN_PIPE = 130, 141

_MISSING = re.compile(r"there is no (job|schedule|template|webhook) (?:'.*'|\d+)")
_TAKEN = re.compile(r"there is a (schedule|webhook) '([\w./:-]+)' already")


class CommandEnded(Exception):
    """Ends the command with a code. The message was printed already."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


def say(*parts: str) -> None:
    """Print one line on stderr."""
    from holdfast.cli.frame.output import put

    put(*parts, stream=sys.stderr, flush=True)


class _WarningPrinter(logging.Handler):
    """Prints a warning of the SDK as one line."""

    def emit(self, record: logging.LogRecord) -> None:
        from holdfast.cli.frame.jobs_shown import numbered

        say(f"holdfast: {numbered(record.getMessage())}")


def show_warnings() -> None:
    """Show the warnings of the SDK."""
    logger = logging.getLogger("holdfast")
    if not logger.handlers:
        logger.addHandler(_WarningPrinter(logging.WARNING))
        logger.propagate = False


def ending(error: BaseException) -> int:
    """Print what went wrong, and return the exit code."""
    match error:
        case SystemExit():
            return error.code if isinstance(error.code, int) else FAILED
        case CommandEnded():
            return _flushed(error.code)
        case KeyboardInterrupt() | click.Abort():
            if sys.stderr.isatty():
                say("")  # The terminal shows ^C, and the prompt should not follow it on the same line.
            return INTERRUPTED
        case BrokenPipeError():
            return _silenced()
    if isinstance(error, click.ClickException):
        context = getattr(error, "ctx", None)
        if context is not None:
            for line in (*context.get_usage().splitlines(), f"Try '{context.command_path} --help' for help.", ""):
                say(line)
        say(f"holdfast: {error.format_message()}")
        return error.exit_code
    return _said(error)


def _said(error: BaseException) -> int:
    from holdfast.core.errors import HoldfastError, InvalidInput, NoDaemon

    if isinstance(error, HoldfastError):
        from holdfast.cli.frame.jobs_shown import numbered

        say(f"holdfast: {numbered(str(error))}{_what_next(str(error))}")
        return NO_DAEMON if isinstance(error, NoDaemon) else USAGE if isinstance(error, InvalidInput) else FAILED
    said = str(error).partition("\n")[0]
    say(f"holdfast: something went wrong ({type(error).__name__}: {said}); the details are in {_written_down(error)}")
    return FAILED


def _what_next(said: str) -> str:
    """A command that helps with an error whose message names none."""
    if found := _MISSING.fullmatch(said):
        return f"; see: holdfast {'' if found[1] == 'job' else found[1] + ' '}ls"
    if found := _TAKEN.match(said):
        return f": holdfast {found[1]} edit {found[2]}"
    return ""


def _written_down(error: BaseException) -> str:
    """Write the traceback of an unexpected error to the log of the command line. Return its path."""
    import tempfile
    import time
    import traceback
    from pathlib import Path

    from holdfast.private_files import open_file

    story = "".join(traceback.format_exception(error))
    entry = f"{time.strftime('%Y-%m-%dT%H:%M:%S%z')} holdfast {' '.join(_harmless(sys.argv[1:]))}\n{story}\n"
    fallback = Path(tempfile.gettempdir()) / f"holdfast-cli-{os.getuid()}.log"
    for file in (_log_at_home(), fallback):
        try:
            with os.fdopen(open_file(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND), "a") as log:
                if os.fstat(log.fileno()).st_uid != os.geteuid():
                    continue  # Another user made it, to read what is written.
                log.write(entry)
            return str(file)
        except OSError:
            continue
    return "no file, none could be written"


def _log_at_home() -> str:
    from holdfast.wire.home import find_home

    try:
        return str(find_home().log.with_name("cli.log"))
    except Exception:
        return ""


def _harmless(words: list[str]) -> list[Any]:
    from holdfast.observe.redact import redacted

    return list(redacted(words))


def _flushed(code: int) -> int:
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        return _silenced()
    return code


def _silenced() -> int:
    """The reader of the output has gone. Keep Python from failing, and complaining, at its exit too."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        os.dup2(nowhere, stream.fileno())
    return BROKEN_PIPE
