"""`holdfast`: the commands, and what they have in common."""

from __future__ import annotations

import sys

import typer

from holdfast.cli import jobs, queues, service
from holdfast.core.errors import HoldfastError, InvalidInput, NoDaemon

FAILED, USAGE, NO_DAEMON = 1, 2, 3

app = typer.Typer(
    name="holdfast",
    help="The durable background runtime of this machine.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
service.register(app)
jobs.register(app)
queues.register(app)


def main() -> None:
    """Run a command. 0 is well, 1 failed, 2 a mistake in the words, 3 no daemon."""
    try:
        app()
    except NoDaemon as error:
        _quit(str(error), NO_DAEMON)
    except InvalidInput as error:
        _quit(str(error), USAGE)
    except HoldfastError as error:
        _quit(str(error), FAILED)
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        sys.exit(0)


def _quit(said: str, code: int) -> None:
    print(f"holdfast: {said}", file=sys.stderr)
    sys.exit(code)
