"""The jobs of changes: their payload and subject, filled in from what is known about the change."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any, Protocol

import msgspec

from holdfast.core.jobs.requests import NewJob
from holdfast.core.rules.limits import MAX_NAME, MAX_SUBJECT
from holdfast.core.settings import watch_settings
from holdfast.core.values.filling import MARK
from holdfast.core.values.subject import FIELD, tenant_of
from holdfast.core.values.watch import MOST_PATHS_BYTES, PATHS, Change, FileChange, WatchKind, below, speakable
from holdfast.core.watching.git import GitMove

USUAL = "{}"
FOLDER_SUBJECT = "watch::{watch}::{relative}"
GIT_SUBJECT = "watch::{watch}::{branch}"
FOLDER_PAYLOAD = {"path": "{path}", "relative": "{relative}", "change": "{change}"}
FOLDER_BULK = {"bulk": "{bulk}", "paths_changed": "{paths_changed}"}
GIT_PAYLOAD = {name: f"{{{name}}}" for name in ("path", "repo", "event", "branch", "head", "old_head")}
GIT_BULK = {"bulk": "{bulk}", "moves": "{moves}"}


class WatchRule(Protocol):
    """What is needed of a watch to make jobs of changes, besides the options of the jobs."""

    @property
    def name(self) -> str: ...
    @property
    def path(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def task(self) -> str | None: ...
    @property
    def payload(self) -> str: ...
    @property
    def subject(self) -> str | None: ...
    @property
    def tenant(self) -> str | None: ...


def about_change(rule: WatchRule, change: FileChange) -> dict[str, Any]:
    """The fields of a template for the change of one file."""
    path = below(rule.path, change.path)
    more = {"path": path, "relative": change.path, "change": change.change.value, "paths_changed": 1, PATHS: [path]}
    return {**_about(rule), **more}


def about_many(rule: WatchRule, count: int, paths: Sequence[str]) -> dict[str, Any]:
    """The fields for many changes in one job. The paths are those that fit into a payload."""
    fitting = [below(rule.path, path) for path in paths]
    sizes = accumulate(len(msgspec.json.encode(path)) + 1 for path in fitting)
    fitting = [path for path, size in zip(fitting, sizes, strict=True) if size < MOST_PATHS_BYTES]
    more = {"relative": "", "change": Change.MODIFIED.value, "bulk": True, "paths_changed": count}
    return {**_about(rule), **more, PATHS: fitting, "truncated": len(fitting) < count}


def about_moves(rule: WatchRule, moves: Sequence[GitMove], most: int) -> list[dict[str, Any]]:
    """The fields for moves of a repository. More than `most` are told as one."""
    told = [
        {
            **_about(rule),
            "event": move.event.value,
            "branch": speakable(move.branch),
            "head": move.new,
            "old_head": move.old,
            "moves": 1,
        }
        for move in moves
    ]
    if len(told) <= most:
        return told
    return [{**told[-1], "old_head": moves[0].old, "bulk": True, "moves": len(moves)}]


def job_of(rule: WatchRule, fields: Mapping[str, Any], job_id: str, *, task_has_subject: bool = False) -> NewJob:
    """The job for a change, of a rule with a task. Its subject is the file, unless the rule or the task has one."""
    assert rule.task is not None
    usual = GIT_SUBJECT if rule.kind == WatchKind.GIT else FOLDER_SUBJECT
    pattern = rule.subject or (None if task_has_subject else usual)
    subject = None if pattern is None else subject_of(pattern, fields)
    tenant = rule.tenant or (None if subject is None else tenant_of(subject)[:MAX_NAME])
    return NewJob(
        id=job_id,
        task=rule.task,
        payload=msgspec.json.encode(filled(_template(rule, fields), fields)).decode(),
        trigger=trigger_of(rule, fields),
        **watch_settings.options_of_jobs(rule) | {"subject": subject, "tenant": tenant},
    )


def sample_arguments(rule: WatchRule) -> dict[str, Any]:
    """The arguments of the jobs of a rule. What only a change can tell is a gap."""
    given: dict[str, Any] = _template(rule, {"bulk": False})
    return {name: MARK if isinstance(value, str) and FIELD.search(value) else value for name, value in given.items()}


def trigger_of(rule: WatchRule, fields: Mapping[str, Any]) -> str:
    """The trigger of a job or an event."""
    about = {name: fields[name] for name in ("path", "change", "event") if name in fields}
    if fields.get("bulk"):
        about["bulk"] = True
    return msgspec.json.encode({"kind": "watch", "watch": rule.name, **about}).decode()


def _template(rule: WatchRule, fields: Mapping[str, Any]) -> Any:
    if rule.payload != USUAL:
        return msgspec.json.decode(rule.payload)
    usual, bulk = (GIT_PAYLOAD, GIT_BULK) if rule.kind == WatchKind.GIT else (FOLDER_PAYLOAD, FOLDER_BULK)
    return {**usual, **bulk} if fields["bulk"] else usual


def _about(rule: WatchRule) -> dict[str, Any]:
    repo = rule.path.rpartition("/")[2] or rule.name
    return {"watch": rule.name, "repo": repo, "root": rule.path, "path": rule.path, "bulk": False, "truncated": False}


def filled(template: Any, fields: Mapping[str, Any]) -> Any:
    """A template with every `{name}` replaced. A text of one name alone becomes the value itself."""
    if isinstance(template, dict):
        return {key: filled(value, fields) for key, value in template.items()}
    if isinstance(template, list):
        return [filled(value, fields) for value in template]
    if not isinstance(template, str):
        return template
    alone = FIELD.fullmatch(template)
    if alone is not None and alone.group(1) is not None:
        return fields[alone.group(1)]
    return FIELD.sub(lambda match: str(fields[match.group(1)]) if match.group(1) else match.group()[0], template)


def subject_of(template: str, fields: Mapping[str, Any]) -> str:
    """The subject of a job. One that would be too long ends in a hash of what was cut off."""
    subject = speakable(str(filled(template, {name: _said(value) for name, value in fields.items()})))
    if len(subject) <= MAX_SUBJECT:
        return subject
    digest = hashlib.sha256(subject.encode()).hexdigest()[:32]
    return f"{subject[: MAX_SUBJECT - len(digest) - 1]}…{digest}"


def _said(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
