"""A sample `holdfast.toml`: every setting with its meaning and its default."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import Any

import msgspec

from holdfast.core.rules import units
from holdfast.daemon.settings import queue_tables, watch_tables
from holdfast.daemon.settings.kinds import Says
from holdfast.daemon.settings.settings import Settings, described

WIDTH = 100


def sample(settings: Settings | None = None) -> str:
    """The whole file. Settings with their default are commented out, so that they change nothing."""
    chosen = settings or Settings()
    parts = [
        "# The settings of a Holdfast daemon. Each line shows a default, or an example where there is none;\n"
        "# remove the # in front of a line to set it. The file belongs into the daemon's home folder."
    ]
    for section in msgspec.structs.fields(Settings):
        lines = [f"[{section.name}]", *_commented(section.type.__doc__ or "")]
        for name, says in described(section.type).items():
            value = getattr(getattr(chosen, section.name), name)
            mark = "# " if value == getattr(section.default, name) else ""
            lines += ["", *_commented(says.text), f"{mark}{name} = {written(says, value)}"]
        parts.append("\n".join(lines))
    parts.append(_example("[queues.NAME]", queue_tables.MEANING, queue_tables.KEYS))
    parts.append(_example("[[watch]]", watch_tables.MEANING, watch_tables.KEYS))
    return "\n\n".join(parts) + "\n"


def _example(head: str, meaning: str, keys: Mapping[str, Says]) -> str:
    """An example of a table that may be there several times, commented out as a whole."""
    # Indented, so that they do not look like settings of the section above.
    return "\n".join(
        [f"# {head}", *_commented(meaning), *(f"#   {key} = {says.example}" for key, says in keys.items())]
    )


def written(says: Says, value: Any) -> str:
    """A value as it is written in the file."""
    if value is None:
        return says.example or ""
    if says.kind.write is not None:
        return says.kind.write(value)
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f'"{units.written_duration(value)}"'
    if isinstance(value, int) and value >= 1 << 16:
        return f'"{units.written_size(value)}"'
    if isinstance(value, tuple):
        return "[" + ", ".join(f'"{item}"' for item in value) + "]"
    return f'"{value}"' if isinstance(value, str) else str(value)


def _commented(text: str) -> list[str]:
    return [f"# {line}" for line in textwrap.wrap(text.replace("`", ""), WIDTH - 2, break_on_hyphens=False)]
