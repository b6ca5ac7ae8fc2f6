"""`holdfast worker`: a process that runs jobs for the daemon, started by hand."""

from __future__ import annotations

from typing import Annotated

from holdfast.cli.frame.options import ConfigOption
from holdfast.cli.frame.words import Option


def worker(
    app: Annotated[
        list[str] | None,
        Option(metavar="APP", help="Code to run: module:name, or file.py:name. Repeatable."),
    ] = None,
    system: Annotated[bool, Option("--system", hidden=True)] = False,
    workspaces: Annotated[bool, Option("--workspaces", hidden=True)] = False,
    place: Annotated[str | None, Option(hidden=True)] = None,
    config: ConfigOption = None,
    json: Annotated[bool, Option("--json", help="Log in JSON.")] = False,
) -> None:
    """Run the tasks of an app for the daemon.

    Works in this terminal. Ctrl-C stops in order, a second one hurries.

    \b
    Examples:
      holdfast worker --app tasks.py
      holdfast worker --app my_package.tasks:hf
    """
    from holdfast.daemon.entry import run_worker
    from holdfast.wire.home import find_home

    options = {"logs.format": "json" if json else None}
    run_worker(
        find_home(),
        app or (),
        is_system=system,
        is_for_workspaces=workspaces,
        place=place,
        config=config,
        options=options,
    )
