"""Watches, and the files that changed there."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from holdfast.core.declared.setting import setting_fields
from holdfast.core.job import Millis
from holdfast.core.rules.tokens import Tokens
from holdfast.core.settings.watch_settings import SETTINGS
from holdfast.core.values.retry import RetryPolicy
from holdfast.core.values.watch import Change


@setting_fields(SETTINGS)
class Watch(Struct, frozen=True, kw_only=True):
    """A watch, its state, and what it has done so far. `known`: whether workers have declared its task lately.

    >>> from holdfast import Holdfast, Watch
    >>> hf = Holdfast("work.db")
    >>> watch = hf.add_watch("src", globs=["*.py"], task="index_file")
    >>> watch.name, watch.enabled, watch.jobs
    ('src', True, 0)
    """

    id: str
    name: str
    node: str
    node_id: str
    origin: str
    kind: str
    path: str
    globs: list[str]
    ignores: list[str]
    gitignore: bool
    task: str | None
    queue: str | None
    payload: str
    subject: str | None
    tenant: str | None
    priority: int | None
    debounce_ms: Millis | None
    max_wait_ms: Millis | None
    max_jobs: int
    initial: bool
    settle_ms: Millis | None
    timeout_ms: Millis | None
    policy: RetryPolicy | None
    tokens: Tokens
    enabled: bool
    problem: str | None
    waits_for: str | None
    scanned_at: Millis | None
    changed_at: Millis | None
    changes: int
    jobs: int
    files: int
    created_at: Millis
    updated_at: Millis
    known: bool


class ChangedFile(Struct, frozen=True):
    """A file that changed: its path, its path in the folder of the watch, and what happened to it."""

    path: str
    relative: str
    change: Change


class ChangedFiles(Struct, frozen=True):
    """The files that a job is about, by path. `truncated`: there were more, and only the first of them were kept.

    `total` is how many changes there were; a file that changed while its job waited may count twice.
    """

    files: list[ChangedFile] = []
    total: int = 0
    truncated: bool = False

    def __iter__(self) -> Iterator[ChangedFile]:
        return iter(self.files)

    def __len__(self) -> int:
        return len(self.files)
