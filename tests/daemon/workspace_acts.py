"""A workspace of a daemon, as tests make it and look at it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from holdfast import Holdfast, WorkspaceHandle
from holdfast.core.messages.workspaces import WorkspaceView
from tests.chaos.processes import KnownProcess
from tests.daemon.house import APPS, House

PATIENCE = 60
ALONE = [sys.executable, str(APPS / "lonely.py"), "{port}"]


def make(hf: Holdfast, name: str = "dev", command: list[str] | None = None, **options: Any) -> WorkspaceHandle:
    """A workspace, once it is what it shall be. Its program is alone in its home, or says that it is not."""
    made = hf.create_workspace(name, command=command or ALONE, **options)
    made.wait(options.get("desired", "RUNNING"), timeout=PATIENCE)
    return made


def pid_of(view: WorkspaceView) -> int:
    """The process of its instance."""
    assert view.instance_ctx is not None
    return view.instance_ctx.pid


def home_of(view: WorkspaceView) -> Path:
    """Its home."""
    assert view.home is not None
    return Path(view.home)


def instances(house: House, name: str = "dev") -> list[KnownProcess]:
    """Every process that lives in a workspace, whoever started it."""
    mark = f"HOLDFAST_WORKSPACE={name}".encode()
    return [one for one in house.everybody() if mark in _environment(one.pid)]


def _environment(pid: int) -> list[bytes]:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return []
