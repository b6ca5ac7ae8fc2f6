"""What triggered a job, a run or an event: a small JSON object with a kind, and the same in words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec

from holdfast.core.job import JobId, Millis, RunId
from holdfast.core.jobs.run import RunStatus

CALL, EVENT, PARENT, RETRY, RUN, APP = "call", "event", "parent", "retry", "run", "app"
SCHEDULE, WEBHOOK = "schedule", "webhook"
WHO = ("user", "by", "origin", "program")


def called(**about: str) -> str:
    """A person or a program asked for it: `by` whom, with which `program`, `origin` if it came over the network.

    `user` is the name by which the daemon knows the caller's token.
    """
    return _encoded(CALL, about)


def with_user(trigger: str, user: str, origin: str | None) -> str:
    """The trigger with the user of the daemon and its address. What is no trigger becomes that of a call."""
    known = {"user": user} if origin is None else {"user": user, "origin": origin}
    about = _decoded(trigger)
    return called(**known) if about is None else msgspec.json.encode(about | known).decode()


def by_event(event_id: str, name: str) -> str:
    """An event came that it waited for."""
    return _encoded(EVENT, {"event_id": event_id, "name": name})


def by_parent(job_id: JobId, run_id: RunId) -> str:
    """A run enqueued it as its child."""
    return _encoded(PARENT, {"job_id": job_id, "run_id": run_id})


def by_run(job_id: JobId, run_id: RunId) -> str:
    """A run did it."""
    return _encoded(RUN, {"job_id": job_id, "run_id": run_id})


def by_app(app_key: str, handler: str, invocation: int) -> str:
    """A call of a handler did it. The id of the call is a text, as it may pass 2^53."""
    return _encoded(APP, {"app": app_key, "handler": handler, "invocation": str(invocation)})


def by_retry(run_id: RunId, after: RunStatus | None) -> str:
    """An earlier run of the job did not end it."""
    return _encoded(RETRY, {"run_id": run_id, "after": after})


def again(job_id: JobId, asked: str | None) -> str:
    """A job is retried by hand. `asked` is the trigger of the call, which says who called."""
    return _encoded(RETRY, {"job_id": job_id} | _who(asked))


def by_schedule(schedule_id: str, name: str, fire_time: Millis) -> str:
    """A tick of a schedule came."""
    return _encoded(SCHEDULE, {"schedule_id": schedule_id, "schedule": name, "fire_time": fire_time})


def by_hand(schedule_id: str, name: str, asked: str | None) -> str:
    """A job of a schedule was asked for by hand. It is no tick."""
    return _encoded(SCHEDULE, {"schedule_id": schedule_id, "schedule": name, "manual": True} | _who(asked))


def by_webhook(webhook_id: str, event_id: str, asked: str | None = None) -> str:
    """A webhook is told about an event. `asked`: it is a test that was asked for."""
    return _encoded(WEBHOOK, {"webhook_id": webhook_id, "event_id": event_id} | _who(asked))


def words(trigger: str | None, moment: Callable[[Millis], str] | None = None) -> str:
    """The trigger in words, with jobs by their ids. An unknown one stays as it is."""
    if trigger is None:
        return ""
    about = _decoded(trigger) or {}
    say = _WORDS.get(str(about.get("kind")))
    if say is None:
        return trigger
    who = "" if say is _called else _said_who(about)
    try:
        return say(about, moment or _utc) + (who and f",{who}")
    except (KeyError, TypeError, ValueError, OverflowError):
        return trigger


def user_of(trigger: str | None) -> str | None:
    """The user with a token of its own who made the call. None: it came by the socket, or with the home's token."""
    name = (_decoded(trigger) or {}).get("user")
    return name if isinstance(name, str) else None


def _encoded(kind: str, about: Mapping[str, Any]) -> str:
    return msgspec.json.encode({"kind": kind, **about}).decode()


def _decoded(trigger: str | None) -> dict[str, Any] | None:
    try:
        return msgspec.json.decode(trigger or "", type=dict[str, Any])
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None


def _who(asked: str | None) -> dict[str, Any]:
    about = _decoded(asked) or {}
    return {name: about[name] for name in WHO if isinstance(about.get(name), str)}


def _utc(millis: Millis) -> str:
    return datetime.fromtimestamp(millis / 1000, UTC).strftime("%Y-%m-%d %H:%M UTC")


def _called(about: Mapping[str, Any], moment: Callable[[Millis], str]) -> str:
    return f"called{_said_who(about)}"


def _said_who(about: Mapping[str, Any]) -> str:
    name = about.get("user", about.get("by"))
    who = "" if name is None else f" by {name}"
    where = f" from {about['origin']}" if "origin" in about else ""
    program = f" ({about['program']})" if "program" in about else ""
    return f"{who}{where}{program}"


def _schedule(about: Mapping[str, Any], moment: Callable[[Millis], str]) -> str:
    if "fire_time" not in about:
        return f"schedule {about['schedule']}, run by hand"
    return f"tick {moment(about['fire_time'])} of schedule {about['schedule']}"


def _retry(about: Mapping[str, Any], moment: Callable[[Millis], str]) -> str:
    if "job_id" in about:
        return f"retry of job {about['job_id']}"
    return f"again after {about['after'] or 'a run that was lost'}"


def _watch(about: Mapping[str, Any], moment: Callable[[Millis], str]) -> str:
    seen = about.get("change") or about.get("event")
    return f"watch {about['watch']}" + (f": {seen} {about['path']}" if seen else "")


_WORDS: dict[str, Callable[[Mapping[str, Any], Callable[[Millis], str]], str]] = {
    CALL: _called,
    SCHEDULE: _schedule,
    EVENT: lambda about, moment: f"event {about['name']}",
    PARENT: lambda about, moment: f"child of job {about['job_id']}",
    RETRY: _retry,
    APP: lambda about, moment: f"handler {about['handler']} of app {about['app']}",
    RUN: lambda about, moment: f"a run of job {about['job_id']}",
    "watch": _watch,
    WEBHOOK: lambda about, moment: f"webhook {about['webhook_id']}, for event {about['event_id']}",
    "canary": lambda about, moment: "a canary of the daemon's own",
    "maintenance": lambda about, moment: "due, as every now and then",
}
