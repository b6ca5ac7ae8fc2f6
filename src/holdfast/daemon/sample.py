"""A `holdfast.toml` in which every setting stands with its meaning and its default, for a person to change."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import Any

import msgspec

from holdfast.daemon import queue_tables, watch_tables
from holdfast.daemon.kinds import Says, in_bytes, in_time
from holdfast.daemon.settings import Settings, described

WIDTH = 100


def sample(settings: Settings | None = None) -> str:
    """The whole file. What is as it is by default is commented out, so that it changes nothing."""
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
    """A table that there can be several of, commented out as a whole."""
    # Further in, so that they do not look like settings of the section above.
    return "\n".join(
        [f"# {head}", *_commented(meaning), *(f"#   {key} = {says.example}" for key, says in keys.items())]
    )


def written(says: Says, value: Any) -> str:
    """A value as it stands in the file."""
    if value is None:
        return says.example or ""
    if says.kind.write is not None:
        return says.kind.write(value)
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f'"{in_time(value)}"'
    if isinstance(value, int) and value >= 1 << 16:
        return f'"{in_bytes(value)}"'
    if isinstance(value, tuple):
        return "[" + ", ".join(f'"{item}"' for item in value) + "]"
    return f'"{value}"' if isinstance(value, str) else str(value)


def _commented(text: str) -> list[str]:
    return [f"# {line}" for line in textwrap.wrap(text.replace("`", ""), WIDTH - 2, break_on_hyphens=False)]
