"""Watches: folders and git repositories whose changes become jobs. Every blocking call has an awaitable twin."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeAlias, TypedDict, Unpack

import msgspec
from msgspec import Struct

from holdfast.client.durations import Duration, to_millis, to_timeout
from holdfast.client.options import check_bool, check_priority, check_tokens
from holdfast.client.retry import Retry, check_policy
from holdfast.client.store_access import StoreAccess
from holdfast.core.errors import InvalidInput, UnknownTask
from holdfast.core.job import Millis
from holdfast.core.limits import check_int, check_label, check_name, shown
from holdfast.core.planning import about_change, job_of
from holdfast.core.task import with_options
from holdfast.core.tokens import NO_TOKENS, Tokens
from holdfast.core.watch import (
    LONGEST_PATH,
    MAX_JOBS,
    Change,
    FileChange,
    NewWatch,
    WatchKind,
    check_watch,
    speakable,
)
from holdfast.runtime.placed import absent, check_place
from holdfast.runtime.tree import Tree
from holdfast.store.scripts import watches
from holdfast.store.scripts.tasks import TaskVersion, find_task
from holdfast.store.scripts.watches import Watch
from holdfast.wire.remote import RemoteEngine

Declared: TypeAlias = Callable[[str], TaskVersion | None]

log = logging.getLogger("holdfast.watches")


class WatchOptions(TypedDict, total=False):
    """Everything that can be said about a watch besides what it is about."""

    name: str | None
    task: str | None
    git: bool
    globs: Iterable[str]
    ignores: Iterable[str]
    gitignore: bool
    queue: str | None
    payload: Mapping[str, Any] | None
    subject: str | None
    tenant: str | None
    priority: int | None
    debounce: Duration | None
    max_wait: Duration | None
    max_jobs: int
    initial: bool
    settle: Duration | None
    timeout: Duration | None
    retry: Retry | int | None
    tokens: Tokens | Mapping[str, int] | None


class WatchTest(Struct, frozen=True, kw_only=True):
    """What a watch would make of a change at a path: a job, or the reason why none."""

    watch: str
    is_meant: bool
    reason: str
    task: str | None = None
    queue: str | None = None
    subject: str | None = None
    payload: str | None = None


class Watches:
    """The part of `Holdfast` that keeps watches."""

    _access: StoreAccess

    def add_watch(
        self, path: str | Path, *, replace: bool = False, must_exist: bool = False, **options: Unpack[WatchOptions]
    ) -> Watch:
        """Make jobs of what changes in a folder: `hf.add_watch("src", globs=["**/*.py"], task="index_file")`.

        With `git=True`, of commits, switches, merges and rebases of a repository instead. A daemon on this machine does
        the watching, once the folder is there; a file is refused. Options: `name` (by default that of the folder),
        `task` (without one, there are only events), `globs`, `ignores` (as in a `.gitignore`), `gitignore`, `queue`,
        `payload` and `subject` (which may name `{path}` and others), `tenant`, `priority`, `debounce`, `max_wait`,
        `max_jobs`, `initial`, `settle`, and of its jobs `timeout`, `retry` and `tokens`. `replace` puts it in the place
        of one with the same name. With `must_exist`, a task that no worker has declared raises UnknownTask.
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
        """Make no more jobs until it is resumed; what changes meanwhile is found then."""
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
            return self._access.read(find_task, task).versions[0]
        except UnknownTask:
            return None

    def _check_place(self, watch: NewWatch) -> None:
        # A daemon looks at its own disk, which need not be ours.
        if not isinstance(self._access.engine, RemoteEngine):
            check_place(watch)

    def _new_watch(self, path: str | Path, options: WatchOptions) -> NewWatch:
        unknown = sorted(set(options) - set(WatchOptions.__annotations__))
        if unknown:
            allowed = ", ".join(WatchOptions.__annotations__)
            raise InvalidInput(f"{unknown[0]!r} is not an option of a watch; use {allowed}")
        where = _absolute(path)
        name = options.get("name")
        return make_watch(self._access.new_id(), where, {**options, "name": _name_of(where) if name is None else name})


def make_watch(watch_id: str, path: str, options: Mapping[str, Any]) -> NewWatch:
    """The watch that these options mean, checked; `path` is absolute."""
    return check_watch(
        NewWatch(
            id=watch_id,
            name=check_name("watch", options["name"]),
            path=path,
            task=options.get("task"),
            kind="git" if check_bool("git", options.get("git", False)) else "folder",
            globs=_texts("globs", options.get("globs")),
            ignores=_texts("ignores", options.get("ignores")),
            gitignore=check_bool("gitignore", options.get("gitignore", True)),
            queue=options.get("queue"),
            payload=_payload(options.get("payload")),
            subject=options.get("subject"),
            tenant=options.get("tenant"),
            priority=None if options.get("priority") is None else check_priority(options["priority"]),
            debounce_ms=_millis("debounce", options.get("debounce")),
            max_wait_ms=_millis("max_wait", options.get("max_wait")),
            max_jobs=check_int("max_jobs", options.get("max_jobs", MAX_JOBS), 1, 10_000),
            initial=check_bool("initial", options.get("initial", False)),
            settle_ms=_millis("settle", options.get("settle")),
            timeout_ms=to_timeout(options.get("timeout")),
            policy=None if (retry := options.get("retry")) is None else check_policy(retry),
            tokens=NO_TOKENS if (tokens := options.get("tokens")) is None else check_tokens(tokens),
        )
    )


def _flags(replace: bool, must_exist: bool) -> dict[str, bool]:
    return {"replace": check_bool("replace", replace), "must_exist": check_bool("must_exist", must_exist)}


def _told(watch: Watch, here: str) -> Watch:
    """The watch, after a warning if there is nothing to watch yet."""
    trouble = absent(watch.kind, watch.path) if watch.node_id == here else None
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
    job = job_of(watch, about_change(watch, change), "", task_has_subject=has_subject)
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
        raise InvalidInput(f"path {shown(path)} is not valid: give the path of a folder")
    return check_label("path", os.path.normpath(os.path.abspath(os.path.expanduser(path))), LONGEST_PATH)


def _name_of(path: str) -> str:
    """A name for a watch from that of its folder."""
    name = "".join(
        letter if letter.isascii() and (letter.isalnum() or letter in "_.-") else "-"
        for letter in os.path.basename(path)
    )
    return name.lstrip(".-") or "watch"


def _ref(ref: str) -> str:
    return check_label("watch", ref)


def _texts(what: str, values: object) -> tuple[str, ...]:
    if values is None:
        return ()
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise InvalidInput(f"{what} {shown(values)} is not valid: give a list of patterns")
    return tuple(values)


def _millis(what: str, value: Duration | None) -> Millis | None:
    return None if value is None else to_millis(what, value)


def _payload(value: object) -> str:
    if value is None:
        return "{}"
    if not isinstance(value, Mapping):
        raise InvalidInput(f"payload {shown(value)} is not valid: give the arguments by name")
    try:
        return msgspec.json.encode(dict(value)).decode()
    except (TypeError, ValueError, msgspec.MsgspecError, RecursionError) as error:
        raise InvalidInput(f"payload {shown(value)} is not JSON: {error}") from None
