"""Which machine this is."""

from __future__ import annotations

import platform


def node_name() -> str:
    """The machine's name for people."""
    return platform.node() or "localhost"
