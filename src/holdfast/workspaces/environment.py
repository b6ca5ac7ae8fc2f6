"""What the program of a workspace finds in its environment, and what people find who work in its home."""

from __future__ import annotations

from collections.abc import Mapping

from holdfast.workers.process import environment

WORKSPACE = "HOLDFAST_WORKSPACE"
PORT = "PORT"


def variables_of(
    name: str, home: str, own: Mapping[str, str], port: int | None, daemon: Mapping[str, str]
) -> dict[str, str]:
    """Those of a command, in a home of its own. `own` are those it was made with, `daemon` names the daemon."""
    found = {**environment.kept_variables(), **daemon, **own, "HOME": home, WORKSPACE: name}
    return found if port is None else found | {PORT: str(port)}
