"""The file that processes in the background print to. They keep it open, so it cannot be renamed."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from holdfast.private_files import for_owner_alone

PIECE = 1 << 20


def rotate(path: Path, max_bytes: int, keep: int) -> bool:
    """If such a file is too long, copy it aside and begin it anew. Return whether it was. `keep` copies are kept.

    Processes append to it, so they go on at the new end.
    """
    try:
        if path.stat().st_size <= max_bytes:
            return False
    except FileNotFoundError:
        return False
    for number in range(keep, 1, -1):
        with suppress(FileNotFoundError):
            os.replace(f"{path}.{number - 1}", f"{path}.{number}")
    if keep:
        _copy(path, Path(f"{path}.1"))
    os.truncate(path, 0)
    return True


def _copy(path: Path, to: Path) -> None:
    to.unlink(missing_ok=True)
    with path.open("rb") as source, open(to, "xb", opener=for_owner_alone) as target:
        # Until nothing more has come meanwhile.
        while piece := source.read(PIECE):
            target.write(piece)
