"""Which machine this is: an id that is kept in its home, and a name for people."""

from __future__ import annotations

import os
import platform
import re
from contextlib import suppress
from functools import cache
from pathlib import Path

from holdfast.core.errors import StoreUnavailable

ID_FILE = "node"
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_ID = re.compile(r"[0-9a-f]{32}", re.ASCII)


def node_name() -> str:
    """The machine's name for people."""
    return platform.node() or "localhost"


@cache
def boot_id() -> str:
    """The id of this boot of the kernel: the same in every container on the machine, and new after a reboot."""
    if _BOOT_ID.exists():
        return _BOOT_ID.read_bytes().decode("ascii").strip()
    import psutil

    return f"{node_name()}@{int(psutil.boot_time())}"


def node_id(home: Path) -> str:
    """The id of the machine of this home. It is made when it is first asked for, and kept in the home."""
    path = home / ID_FILE
    try:
        return _read(path) or _make(path)
    except OSError as error:
        raise StoreUnavailable(f"{path} cannot be used ({error.strerror}); make its folder writable") from error


def _read(path: Path) -> str | None:
    try:
        # As bytes: for a text, Python would import what decodes it. See `load_all` of `script_names`.
        found = path.read_bytes().decode("ascii").strip()
    except (FileNotFoundError, UnicodeDecodeError):
        return None
    return found if _ID.fullmatch(found) else None


def _make(path: Path) -> str:
    """Make the id. The file is complete before it gets its name. If several processes make one, the first counts."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    fresh = path.with_name(f".{path.name}.{os.getpid()}.{os.urandom(4).hex()}")
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(os.urandom(16).hex())
        file.flush()
        os.fsync(file.fileno())
    try:
        with suppress(OSError):  # The file is there by now, or the file system has no hard links.
            os.link(fresh, path)
        found = _read(path)
        if found is None:
            # The machine went down at a bad moment, and has left an empty file.
            os.replace(fresh, path)
            found = _read(path)
    finally:
        with suppress(FileNotFoundError):
            fresh.unlink()
    if found is None:
        raise StoreUnavailable(f"{path} does not hold the id of this machine, and could not be made anew")
    return found
