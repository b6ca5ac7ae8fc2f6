"""The system's watcher reports changes in folders. There is one for all watches.

Each folder is given to it by itself. If it walked a tree itself, it would follow links out of the tree, and watch what
is ignored.
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from watchfiles._rust_notify import RustNotify

# While a file changes all the time, a report comes every two steps. A debounce must not take that pause for quiet.
STEP_MS = 10
GATHER_MS = 20
LOOK_UP_MS = 5_000
DELETED = 3
TRIES = 5
RECOVERY_S = 1.0

# Limits of the system: the setting, a better value, and the words of its error.
LIMITS = (
    ("max_user_watches", 1_048_576, ("limit reached", "no space left")),
    ("max_user_instances", 1_024, ("too many open files",)),
)

log = logging.getLogger("holdfast.planner")


class Watcher:
    """Tells `heard` which paths changed, and calls `lost` when it may have missed some. Lives on one event loop."""

    def __init__(self, heard: Callable[[set[str]], None], lost: Callable[[], None]) -> None:
        self._heard = heard
        self._lost = lost
        self._home = asyncio.get_running_loop()
        self._folders: dict[str, set[str]] = {}
        self._covered: set[str] = set()
        self._pump: _Pump | None = None
        self._lock = asyncio.Lock()
        self._is_closed = False
        self.trouble: str | None = None

    async def cover(self, owner: str, folders: Iterable[str], *, only: bool = False) -> bool:
        """Watch these folders too, for an owner. With `only`, no others for that owner. Return whether any is new.

        Changes in a new folder before this returns may be missed, so look again.
        """
        wanted = set(folders)
        self._folders[owner] = wanted if only else self._folders.get(owner, set()) | wanted
        async with self._lock:
            if self._is_closed or wanted <= self._covered:
                return False
            await self._renew()
            return True

    def leave(self, owner: str) -> None:
        """Watch nothing for an owner any more."""
        self._folders.pop(owner, None)

    async def close(self) -> None:
        """Watch nothing any more."""
        async with self._lock:
            self._is_closed = True
            pump, self._pump = self._pump, None
            if pump is not None:
                await asyncio.to_thread(pump.stop)

    async def _renew(self) -> None:
        """Start another watcher with all folders, as one that runs takes no more folders."""
        wanted = set().union(*self._folders.values())
        old, self._pump, self._covered = self._pump, None, wanted
        try:
            notify = await asyncio.to_thread(_in_place_of, old, wanted)
        except Exception as error:
            self._give_up(error, len(wanted))
        else:
            self.trouble = None
            self._pump = _Pump(notify, self._tell, self._fail)
        if old is not None:
            await asyncio.to_thread(old.stop)

    def _give_up(self, error: Exception, folders: int) -> None:
        """The system cannot watch. From now on changes are found only by looking."""
        trouble = _limit_met(error, folders) or str(error)
        if self.trouble is None:
            log.warning("changes are only found by looking: %s", trouble, extra={"event": "watcher_failed"})
        self.trouble = trouble

    def _tell(self, found: set[tuple[int, str]]) -> None:
        """Called from the pump's thread."""
        self._home.call_soon_threadsafe(self._take, found)

    def _fail(self, pump: _Pump, error: Exception) -> None:
        """Called from the pump's thread."""
        self._home.call_soon_threadsafe(self._recover, pump, error)

    def _take(self, found: set[tuple[int, str]]) -> None:
        for change, path in found:
            if change == DELETED and path in self._covered:
                # For the system, a folder that comes back under the same name is another one.
                self._covered = {
                    folder for folder in self._covered if folder != path and not folder.startswith(f"{path}/")
                }
        if not self._is_closed:
            self._heard({path for _, path in found})

    def _recover(self, pump: _Pump, error: Exception) -> None:
        """The watcher failed, for example at a name that is not UTF-8. Its reports are lost, so start another one."""
        if pump is not self._pump or self._is_closed:
            return
        log.info("the watcher begins again: %s", error, extra={"event": "watcher_restarted"})
        self._covered = set()
        self._home.call_later(RECOVERY_S, self._lost)


class _Pump:
    """A thread that waits for the system's watcher."""

    def __init__(
        self,
        notify: RustNotify,
        tell: Callable[[set[tuple[int, str]]], None],
        fail: Callable[[_Pump, Exception], None],
    ) -> None:
        self._notify = notify
        self._tell = tell
        self._fail = fail
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._work, name="holdfast-watcher", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Report what has come so far, and then nothing more."""
        self._stopping.set()
        self._thread.join()

    def _work(self) -> None:
        try:
            while not self._stopping.is_set():
                self._pass_on(self._notify.watch(GATHER_MS, STEP_MS, LOOK_UP_MS, self._stopping))
            self._pass_on(self._notify.watch(1, 1, 1, None))
        except Exception as error:
            self._fail(self, error)
        finally:
            self._notify.close()

    def _pass_on(self, found: set[tuple[int, str]] | str) -> None:
        if isinstance(found, set) and found:
            try:
                self._tell(found)
            except RuntimeError:
                self._stopping.set()  # The event loop is gone.


def _in_place_of(old: _Pump | None, folders: set[str]) -> RustNotify:
    try:
        return _notify(folders)
    except Exception:
        if old is None:
            raise
        # Two at once would need twice as much of the limits of the system.
        old.stop()
        return _notify(folders)


def _notify(folders: set[str]) -> RustNotify:
    from watchfiles._rust_notify import RustNotify

    for _ in range(TRIES):
        there = sorted(folder for folder in folders if _is_speakable(folder) and os.path.isdir(folder))
        try:
            return RustNotify(there, False, False, 0, False, True)
        except FileNotFoundError:
            continue  # One of them is gone meanwhile.
    raise OSError("folders come and go too fast")


def _limit_met(error: Exception, folders: int) -> str | None:
    """The message if a limit of the system is reached. None for other errors."""
    said = str(error).lower()
    for name, allowed, words in LIMITS:
        if any(word in said for word in words):
            limit = f"fs.inotify.{name}"
            return (
                f"the system allows {limit} = {_limit(name)}, and {folders} folders need more; "
                f"raise it: sudo sysctl {limit}={allowed}"
            )
    return None


def _limit(name: str) -> str:
    try:
        with open(f"/proc/sys/fs/inotify/{name}") as file:
            return file.read().strip()
    except OSError:
        return "?"


def _is_speakable(path: str) -> bool:
    """Whether the system's watcher can take the name. Others are found by looking."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True
