"""Watches: folders and git repositories whose changes become jobs. Every blocking call has an awaitable twin."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeAlias, Unpack

from msgspec import Struct

from holdfast.client.store_access import StoreAccess
from holdfast.core.errors import UnknownTask
from holdfast.core.messages.tasks import TaskVersion
from holdfast.core.messages.watches import Watch
from holdfast.core.rules.value_rules import FLAG
from holdfast.core.settings import rule_table
from holdfast.core.settings.rule_table import RULES
from holdfast.core.settings.watch_settings import WatchOptions
from holdfast.core.tasks.task import with_options
from holdfast.core.values.watch import Change, FileChange, WatchKind, speakable
from holdfast.core.watching import planning
from holdfast.core.watching.new_watch import NewWatch, make_watch
from holdfast.runtime.planner import watch_places
from holdfast.runtime.planner.tree import Tree
from holdfast.store.script_names import declared_tasks, watches

Declared: TypeAlias = Callable[[str], TaskVersion | None]

log = logging.getLogger("holdfast.watches")


class WatchTest(Struct, frozen=True, kw_only=True):
    """What a watch would make of a change at a path: a job, or the reason why not."""

    watch: str
    is_meant: bool
    reason: str
    task: str | None = None
    queue: str | None = None
    subject: str | None = None
    payload: str | None = None


class Watches:
    """The part of `Holdfast` for watches."""

    _access: StoreAccess

    def add_watch(
        self, path: str | Path, *, replace: bool = False, must_exist: bool = False, **options: Unpack[WatchOptions]
    ) -> Watch:
        """Make jobs of what changes in a folder: `hf.add_watch("src", globs=["**/*.py"], task="index_file")`.

        With `git=True`, of commits, switches, merges and rebases of a repository instead. A daemon on this machine does
        the watching, once the folder is there; a file is refused. Without a `name` it is called like the folder, and
        without a `task` there are only events. What else can be said is under "Settings of a watch" in the reference.
        `replace` puts it in the place of one with the same name. With `must_exist`, a task that no worker has declared
        raises UnknownTask.
        """
        wanted = self._new_watch(path, options)
        self._check_place(wanted)
        made = self._access.write(watches.add_watch, wanted, self._access.now(), **_flags(replace, must_exist))
        return _told(made, self._access.engine.node)

    async def aadd_watch(
        self, path: str | Path, *, replace: bool = False, must_exist: bool = False, **options: Unpack[WatchOptions]
    ) -> Watch:
        """The awaitable twin of `add_watch`."""
        import asyncio

        wanted = self._new_watch(path, options)
        await asyncio.to_thread(self._check_place, wanted)
        made = await self._access.awrite(
            watches.add_watch, wanted, await self._access.anow(), **_flags(replace, must_exist)
        )
        return await asyncio.to_thread(lambda: _told(made, self._access.engine.node))

    def watches(self) -> list[Watch]:
        """Every watch, by name."""
        return self._access.read(watches.list_watches)

    async def awatches(self) -> list[Watch]:
        """The awaitable twin of `watches`."""
        return await self._access.aread(watches.list_watches)

    def watch(self, ref: str) -> Watch:
        """A watch by its name or id."""
        return self._access.read(watches.find_watch, _ref(ref))

    async def awatch(self, ref: str) -> Watch:
        """The awaitable twin of `watch`."""
        return await self._access.aread(watches.find_watch, _ref(ref))

    def remove_watch(self, ref: str) -> Watch:
        """Watch no longer. Jobs that were made stay."""
        return self._access.write(watches.remove_watch, _ref(ref))

    async def aremove_watch(self, ref: str) -> Watch:
        """The awaitable twin of `remove_watch`."""
        return await self._access.awrite(watches.remove_watch, _ref(ref))

    def pause_watch(self, ref: str) -> Watch:
        """Make no more jobs until it is resumed. What changes meanwhile is found then."""
        return self._access.write(watches.pause_watch, _ref(ref), self._access.now())

    async def apause_watch(self, ref: str) -> Watch:
        """The awaitable twin of `pause_watch`."""
        return await self._access.awrite(watches.pause_watch, _ref(ref), await self._access.anow())

    def resume_watch(self, ref: str) -> Watch:
        """Go on, with what changed in the meantime."""
        return self._access.write(watches.resume_watch, _ref(ref), self._access.now())

    async def aresume_watch(self, ref: str) -> Watch:
        """The awaitable twin of `resume_watch`."""
        return await self._access.awrite(watches.resume_watch, _ref(ref), await self._access.anow())

    def test_watches(self, path: str | Path) -> list[WatchTest]:
        """What each watch that the path is in would make of a change there. Nothing is stored."""
        return _test(self.watches(), _absolute(path), self._access.engine.node, self._newest_version)

    async def atest_watches(self, path: str | Path) -> list[WatchTest]:
        """The awaitable twin of `test_watches`."""
        import asyncio

        return await asyncio.to_thread(self.test_watches, path)

    def _newest_version(self, task: str) -> TaskVersion | None:
        """What a task declares, if it is known."""
        try:
            return self._access.read(declared_tasks.find_task, task).versions[0]
        except UnknownTask:
            return None

    def _check_place(self, watch: NewWatch) -> None:
        # A daemon looks at its own disk, which may be another one.
        if not self._access.engine.is_remote:
            watch_places.check_place(watch)

    def _new_watch(self, path: str | Path, options: WatchOptions) -> NewWatch:
        where = _absolute(path)
        name = options.get("name")
        return make_watch(self._access.new_id(), where, {**options, "name": _name_of(where) if name is None else name})


def _flags(replace: bool, must_exist: bool) -> dict[str, bool]:
    return {"replace": FLAG.check("replace", replace), "must_exist": FLAG.check("must_exist", must_exist)}


def _told(watch: Watch, here: str) -> Watch:
    """The watch. Warn if there is nothing to watch yet."""
    trouble = watch_places.absent(watch.kind, watch.path) if watch.node_id == here else None
    if trouble is not None:
        log.warning("%s", trouble, extra={"event": "watch_absent", "watch": watch.name})
    return watch


def _test(found: Iterable[Watch], path: str, here: str, declared: Declared) -> list[WatchTest]:
    return [_tested(watch, path, here, declared) for watch in found if path.startswith(f"{watch.path.rstrip('/')}/")]


def _tested(watch: Watch, path: str, here: str, declared: Declared) -> WatchTest:
    if watch.kind == WatchKind.GIT:
        return WatchTest(watch=watch.name, is_meant=False, reason="a git watch looks at commits, not at files")
    tree = Tree(watch.path, watch.globs, watch.ignores, watch.gitignore)
    relative = tree.relative(path) or ""
    why_not = None
    if watch.node_id != here:
        why_not = f"it belongs to node {watch.node!r}"
    elif tree.goes_through_a_link(relative):
        why_not = "a folder on the way is a link, and links are not followed"
    elif os.path.isdir(path) and not os.path.islink(path):
        why_not = "this is a folder; its files are what matters"
    elif not tree.matters(speakable(relative)):
        why_not = f"none of its globs means {relative}: {', '.join(watch.globs)}"
    elif tree.ignoring.ignores_path(relative, False):
        why_not = f"{relative} is ignored"
    elif not watch.enabled:
        why_not = "it is paused"
    if why_not is not None:
        return WatchTest(watch=watch.name, is_meant=False, reason=why_not)
    if watch.task is None:
        return WatchTest(watch=watch.name, is_meant=True, reason="it has no task, so there is only an event")
    change = FileChange(speakable(relative), None, Change.MODIFIED)
    version = declared(watch.task)
    has_subject = version is not None and version.options.subject is not None
    job = planning.job_of(watch, planning.about_change(watch, change), "", task_has_subject=has_subject)
    if version is not None:
        job = with_options(job, version.options, version.arguments or {})
    queue, _, _ = job.line
    return WatchTest(
        watch=watch.name,
        is_meant=True,
        reason="a change here becomes a job",
        task=job.task,
        queue=queue,
        subject=job.subject,
        payload=job.payload,
    )


def _absolute(path: str | Path) -> str:
    if not isinstance(path, str | Path) or not str(path):
        raise RULES["NewWatch.path"].refusal("path", path)
    return rule_table.check("NewWatch.path", os.path.normpath(os.path.abspath(os.path.expanduser(path))), "path")


def _name_of(path: str) -> str:
    """A name for a watch from that of its folder."""
    name = "".join(
        letter if letter.isascii() and (letter.isalnum() or letter in "_.-") else "-"
        for letter in os.path.basename(path)
    )
    return name.lstrip(".-") or "watch"


def _ref(ref: str) -> str:
    return rule_table.check("ref", ref, "watch")
