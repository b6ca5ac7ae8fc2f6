"""Options that many commands share."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from holdfast import Holdfast
from holdfast.wire.home import HOME

HomeOption = Annotated[
    Path | None,
    typer.Option("--home", help="The daemon's folder; also HOLDFAST_HOME. Default: the platform's data folder."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def client(home: Path | None) -> Holdfast:
    """The SDK, as a client of the daemon of this home."""
    if home is not None:
        os.environ[HOME] = str(home)
    return Holdfast()
