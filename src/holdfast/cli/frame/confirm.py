"""Asks before much is changed at once."""

from __future__ import annotations

import click

from holdfast.cli.frame import output
from holdfast.core.errors import HoldfastError, InvalidInput
from holdfast.observe.terminal import in_a_line


def confirm(what: str, jobs: int, *, more: bool = False, yes: bool) -> None:
    """Ask whether to really change so many. If no person can be asked, --yes is needed."""
    if yes or not jobs:
        return
    count = f"{jobs}{' or more' if more else ''} job{'s' if jobs != 1 else ''}"
    if not output.is_interactive():
        raise InvalidInput(f"this would {what[0].lower()}{what[1:]} {count}; nobody can be asked here: add --yes")
    if not click.confirm(in_a_line(f"{what} {count}?"), err=True):
        raise HoldfastError("nothing was changed")


def agree(question: str, *, yes: bool) -> None:
    """Ask before something that is hard to undo."""
    if yes:
        return
    if not output.is_interactive():
        raise InvalidInput(f"{question} Nobody can be asked here: add --yes")
    if not click.confirm(in_a_line(question), err=True):
        raise HoldfastError("nothing was changed")
