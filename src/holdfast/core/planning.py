"""The jobs that changes become: their payload and subject, filled in from what is known about the change."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any, Protocol

import msgspec

from holdfast.core.filling import MARK
from holdfast.core.git import Move
from holdfast.core.job import Millis
from holdfast.core.limits import MAX_NAME, MAX_SUBJECT
from holdfast.core.requests import NewJob
from holdfast.core.retry import RetryPolicy
from holdfast.core.subject import FIELD, tenant_of
from holdfast.core.tokens import Tokens
from holdfast.core.watch import MOST_PATHS_BYTES, PATHS, Change, FileChange, WatchKind, below, speakable

USUAL = "{}"
FOLDER_SUBJECT = "watch::{watch}::{relative}"
GIT_SUBJECT = "watch::{watch}::{branch}"
FOLDER_PAYLOAD = {"path": "{path}", "relative": "{relative}", "change": "{change}"}
FOLDER_BULK = {"bulk": "{bulk}", "paths_changed": "{paths_changed}"}
GIT_PAYLOAD = {name: f"{{{name}}}" for name in ("path", "repo", "event", "branch", "head", "old_head")}
GIT_BULK = {"bulk": "{bulk}", "moves": "{moves}"}


class Rule(Protocol):
    """What has to be known of a watch to make jobs of what it sees."""

    @property
    def name(self) -> str: ...
    @property
    def path(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def task(self) -> str | None: ...
    @property
    def queue(self) -> str | None: ...
    @property
    def payload(self) -> str: ...
    @property
    def subject(self) -> str | None: ...
    @property
    def tenant(self) -> str | None: ...
    @property
    def priority(self) -> int | None: ...
    @property
    def max_jobs(self) -> int: ...
    @property
    def timeout_ms(self) -> Millis | None: ...
    @property
    def policy(self) -> RetryPolicy | None: ...
    @property
    def tokens(self) -> Tokens: ...


def about_change(rule: Rule, change: FileChange) -> dict[str, Any]:
    """What a template may name about the change of one file."""
    path = below(rule.path, change.path)
    more = {"path": path, "relative": change.path, "change": change.change.value, "paths_changed": 1, PATHS: [path]}
    return {**_about(rule), **more}


def about_many(rule: Rule, count: int, paths: Sequence[str]) -> dict[str, Any]:
    """The same about more changes than there should be jobs. Of the paths there are as many as a payload may hold."""
    fitting = [below(rule.path, path) for path in paths]
    sizes = accumulate(len(msgspec.json.encode(path)) + 1 for path in fitting)
    fitting = [path for path, size in zip(fitting, sizes, strict=True) if size < MOST_PATHS_BYTES]
    more = {"relative": "", "change": Change.MODIFIED.value, "bulk": True, "paths_changed": count}
    return {**_about(rule), **more, PATHS: fitting, "truncated": len(fitting) < count}


def about_moves(rule: Rule, moves: Sequence[Move], most: int) -> list[dict[str, Any]]:
    """The same about what happened to a repository; more than there should be at most are told as one."""
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


def job_of(rule: Rule, fields: Mapping[str, Any], job_id: str, *, task_has_subject: bool = False) -> NewJob:
    """The job for a change, of a rule with a task. It is about the file, unless the rule or the task says otherwise."""
    assert rule.task is not None
    usual = GIT_SUBJECT if rule.kind == WatchKind.GIT else FOLDER_SUBJECT
    pattern = rule.subject or (None if task_has_subject else usual)
    subject = None if pattern is None else subject_of(pattern, fields)
    return NewJob(
        id=job_id,
        task=rule.task,
        queue=rule.queue,
        payload=msgspec.json.encode(filled(_template(rule, fields), fields)).decode(),
        priority=rule.priority,
        subject=subject,
        tenant=rule.tenant or (None if subject is None else tenant_of(subject)[:MAX_NAME]),
        trigger=trigger_of(rule, fields),
        timeout_ms=rule.timeout_ms,
        policy=rule.policy,
        tokens=rule.tokens or None,
    )


def sample_arguments(rule: Rule) -> dict[str, Any]:
    """The arguments that the jobs of a rule have; what a change has to tell stands there as a gap."""
    given: dict[str, Any] = _template(rule, {"bulk": False})
    return {name: MARK if isinstance(value, str) and FIELD.search(value) else value for name, value in given.items()}


def trigger_of(rule: Rule, fields: Mapping[str, Any]) -> str:
    """What stands on a job or an event as its cause."""
    about = {name: fields[name] for name in ("path", "change", "event") if name in fields}
    if fields.get("bulk"):
        about["bulk"] = True
    return msgspec.json.encode({"kind": "watch", "watch": rule.name, **about}).decode()


def _template(rule: Rule, fields: Mapping[str, Any]) -> Any:
    if rule.payload != USUAL:
        return msgspec.json.decode(rule.payload)
    usual, bulk = (GIT_PAYLOAD, GIT_BULK) if rule.kind == WatchKind.GIT else (FOLDER_PAYLOAD, FOLDER_BULK)
    return {**usual, **bulk} if fields["bulk"] else usual


def _about(rule: Rule) -> dict[str, Any]:
    repo = rule.path.rpartition("/")[2] or rule.name
    return {"watch": rule.name, "repo": repo, "root": rule.path, "path": rule.path, "bulk": False, "truncated": False}


def filled(template: Any, fields: Mapping[str, Any]) -> Any:
    """A template with every `{name}` replaced; a text that is one name alone becomes the value as it is."""
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
