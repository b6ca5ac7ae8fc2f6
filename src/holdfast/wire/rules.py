"""What the values in a request may be, by the name of their field: one table for every call.

What the shapes of core say about types stays as it is; here stands what core leaves to whoever lets somebody in.
How a rule gets to its field is the business of `shapes`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, get_args

from msgspec import Meta, Raw, Struct

from holdfast.core.breaker import LONGEST_OPEN_MS, MOST_FAILURES
from holdfast.core.cron import LONGEST_EXPRESSION
from holdfast.core.event import LONGEST_ATTRIBUTE, LONGEST_VALUE, MOST_ATTRIBUTES
from holdfast.core.fairness import MOST_WEIGHT
from holdfast.core.glob import LONGEST_GLOB, MOST_GLOBS
from holdfast.core.job import StateName
from holdfast.core.limits import MAX_INT, MAX_NAME, MAX_PAYLOAD, MAX_PRIORITY, MAX_SUBJECT
from holdfast.core.maintenance import Chore
from holdfast.core.queue import MOST_WAITING, QueueSetting
from holdfast.core.rate import LONGEST_WINDOW, MOST_STARTS
from holdfast.core.readings import NUMBERS
from holdfast.core.schedule import MAX_JITTER
from holdfast.core.task import MAX_DOC
from holdfast.core.timing import FAR_FUTURE, LONGEST
from holdfast.core.tokens import MOST_TOKENS
from holdfast.core.watch import LONGEST_PATH, MOST_CHANGED
from holdfast.core.webhook import LONGEST_TIMEOUT_MS, MOST_PATTERNS

MOST_ITEMS = 10_000
LONGEST_REASON = 1_000
LONGEST_TEXT = 100_000
MOST_SLOTS = 10_000
LONGEST_WAIT_MS = 3_600_000

# `$` also stands before a line break at the end, in Python.
_END = r"$(?!\n)"
_NAME = r"[A-Za-z0-9_][A-Za-z0-9_.:/<>-]*"
_LABEL = r"^[^\x00-\x1f\x7f]+" + _END
_UUID = r"^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}" + _END


class Rule(Struct, frozen=True):
    """What a value may be: for msgspec, and in words. `kind` takes the place of the type that the shape has.

    Where the shape has a list of such values, there are at most `most` of them. `keys` is for the names in an object.
    """

    says: str
    meta: Meta | None = None
    kind: Any = None
    most: int = MOST_ITEMS
    keys: Meta | None = None


def _text(says: str, longest: int, pattern: str, shortest: int = 1) -> Rule:
    return Rule(says, Meta(pattern=pattern, min_length=shortest, max_length=longest))


def _label(longest: int = MAX_NAME, most: int = MOST_ITEMS) -> Rule:
    says = f"1 to {longest} characters without control characters"
    return Rule(says, Meta(pattern=_LABEL, min_length=1, max_length=longest), most=most)


def _number(low: float, high: float) -> Rule:
    return Rule(f"a number from {low} to {high}", Meta(ge=low, le=high))


def _one_of(kind: Any) -> Rule:
    return Rule("one of " + ", ".join(map(repr, get_args(kind))), kind=kind)


UUID = _text("a UUID in lower case, best a UUIDv7", 36, _UUID, 36)
NAME = _text(f"1 to {MAX_NAME} letters, digits and _ . : / -", MAX_NAME, f"^{_NAME}{_END}")
SCOPE = _text(f"* or 1 to {MAX_NAME} letters, digits and _ . : / -", MAX_NAME, rf"^(\*|{_NAME}){_END}")
LABEL = _label()
ID = LABEL
PATTERN = _text(
    "the name of an event, or the beginning of one with * behind", MAX_NAME + 1, rf"^(({_NAME})?\*|{_NAME}){_END}"
)
ATTRIBUTES = Rule(
    f"at most {MOST_ATTRIBUTES} names of at most {LONGEST_ATTRIBUTE} characters, "
    f"each with a text of at most {LONGEST_VALUE} characters",
    Meta(pattern=r"^[^\x00-\x1f\x7f]*" + _END, max_length=LONGEST_VALUE),
    most=MOST_ATTRIBUTES,
    keys=Meta(pattern=f"^{_NAME}{_END}", min_length=1, max_length=LONGEST_ATTRIBUTE),
)
TEXT = _text(f"at most {LONGEST_TEXT} characters, none of them NUL", LONGEST_TEXT, r"^[^\x00]*$", 0)
DOCUMENT = _text(f"JSON of at most {MAX_PAYLOAD} bytes", MAX_PAYLOAD, r"^[^\x00]*$", 0)
REASON = _text(f"1 to {LONGEST_REASON} characters, none of them NUL", LONGEST_REASON, r"^[^\x00]+$")
MOMENT = Rule("milliseconds since 1970, up to the year 9999", Meta(ge=0, le=FAR_FUTURE))
DURATION = Rule("milliseconds, from 0 to 100 years", Meta(ge=0, le=LONGEST))
SPAN = Rule("milliseconds, from 1 to 100 years", Meta(ge=1, le=LONGEST))
STATES = Rule("states out of " + ", ".join(StateName) + ", each once", most=len(StateName))
WHOLE = Rule("a whole number of 64 bits", Meta(ge=-MAX_INT - 1, le=MAX_INT))
JOB_REF = Rule(
    "the id of a job or its number",
    kind=Annotated[str, Meta(pattern=_LABEL, min_length=1, max_length=MAX_NAME)]
    | Annotated[int, Meta(ge=1, le=MAX_INT)],
)
PAYLOAD = Rule(
    "a JSON object, or a JSON object as text",
    kind=Annotated[
        Raw,
        Meta(
            description="The task's arguments by name: a JSON object, or the text of one.",
            extra_json_schema={
                "anyOf": [{"type": "object"}, {"type": "string", "contentMediaType": "application/json"}]
            },
        ),
    ],
)

# Beside None there is no place for text that is not read yet. And no pattern: msgspec frees one wrongly that stands
# beside a dict, and the process would crash when it ends.
CHANGED_PAYLOAD = Rule(PAYLOAD.says, kind=Annotated[str, Meta(max_length=MAX_PAYLOAD)] | dict[str, Raw])

RULES: Mapping[str, Rule] = {
    # Ids that the caller makes; a repeat of the call carries the same.
    "NewJob.id": UUID,
    "NewTemplate.id": UUID,
    "NewSchedule.id": UUID,
    "run_schedule_now.id": UUID,
    "NewWebhook.id": UUID,
    "NewWatch.id": UUID,
    "NewReservation.id": UUID,
    "NewSession.id": UUID,
    "NewSession.secret": _text("32 to 200 random characters", MAX_NAME, _LABEL, 32),
    "Offer.worker_id": UUID,
    "create_group.group_id": UUID,
    "enqueue_group.group_id": UUID,
    "enqueue_from_template.id": UUID,
    "emit.id": UUID,
    "retry_job.new_id": UUID,
    "enqueue_measured.ids": UUID,
    # What exists, by its id. Embedded programs may make ids of another kind.
    "job_id": JOB_REF,
    "other_id": JOB_REF,
    "ref": JOB_REF,
    "Dependency.job_id": JOB_REF,
    "Report.job_id": ID,
    "Progress.job_id": ID,
    "parent_job_id": ID,
    "run_id": ID,
    "holds": ID,
    "session_id": ID,
    "worker_id": ID,
    "group_id": ID,
    "reservation_id": ID,
    "find_template.ref": LABEL,
    "edit_template.ref": LABEL,
    "archive_template.ref": LABEL,
    "find_schedule.ref": LABEL,
    "edit_schedule.ref": LABEL,
    "delete_schedule.ref": LABEL,
    "pause_schedule.ref": LABEL,
    "resume_schedule.ref": LABEL,
    "run_schedule_now.ref": LABEL,
    "preview_schedule.ref": LABEL,
    "NewSchedule.template": LABEL,
    "ScheduleChanges.template": LABEL,
    "enqueue_from_template.ref": LABEL,
    "find_watch.ref": LABEL,
    "remove_watch.ref": LABEL,
    "pause_watch.ref": LABEL,
    "resume_watch.ref": LABEL,
    "find_webhook.ref": LABEL,
    "edit_webhook.ref": LABEL,
    "delete_webhook.ref": LABEL,
    "pause_webhook.ref": LABEL,
    "resume_webhook.ref": LABEL,
    "send_test.ref": LABEL,
    "list_deliveries.ref": LABEL,
    "redeliver.ref": LABEL,
    "fingerprint": _text("f and 12 hexadecimal digits", 13, r"^f[0-9a-f]{12}" + _END, 13),
    "delivery_id": ID,
    "event_id": ID,
    # Names and labels.
    "task": NAME,
    "tasks": NAME,
    "queue": NAME,
    "queues": SCOPE,
    "QueueSlots.queue": SCOPE,
    "NewTemplate.name": NAME,
    "NewSchedule.owner": LABEL,
    "owners": LABEL,
    "schedule_id": ID,
    "cron": _label(LONGEST_EXPRESSION),
    "expression": _label(LONGEST_EXPRESSION),
    "timezone": LABEL,
    "Offer.name": LABEL,
    "source": LABEL,
    "doc": _label(MAX_DOC),
    "list_tasks.after": _text(f"at most {MAX_NAME} letters, digits and _ . : / -", MAX_NAME, f"^({_NAME})?{_END}", 0),
    "create_group.name": LABEL,
    "enqueue_group.name": LABEL,
    "list_events.name": PATTERN,
    "wait_for_event": PATTERN,
    "attributes": ATTRIBUTES,
    "event_attributes": ATTRIBUTES,
    "name": NAME,
    "scope": SCOPE,
    "tag": LABEL,
    "chore": _text(f"one of {', '.join(Chore)}, or all", MAX_NAME, f"^{_NAME}{_END}"),
    "tenant": LABEL,
    "weight": _number(1, MOST_WEIGHT),
    "for_ms": DURATION,
    "idempotency_key": LABEL,
    "trace_id": LABEL,
    "reserved_by": LABEL,
    "cursor": LABEL,
    "node": LABEL,
    "host": LABEL,
    "boot_id": LABEL,
    "subject": _label(MAX_SUBJECT),
    "subject_prefix": _label(MAX_SUBJECT),
    "error_text": LABEL,
    "reason": REASON,
    "code": _text(f"at most {MAX_NAME} characters, no control characters", MAX_NAME, r"^[^\x00-\x1f\x7f]*" + _END, 0),
    # What a task says: a report that is refused would cost its result.
    "Skipped.reason": TEXT,
    "Yielded.reason": TEXT,
    "Progress.text": TEXT,
    "NewWatch.path": _text(
        f"an absolute path of at most {LONGEST_PATH} characters", LONGEST_PATH, "^/[^\\x00-\\x1f\\x7f]+" + _END
    ),
    "globs": _label(LONGEST_GLOB, MOST_GLOBS),
    "ignores": _label(LONGEST_GLOB, MOST_GLOBS),
    "lock_path": _label(LONGEST_PATH),
    "log_path": _label(LONGEST_PATH),
    "NewWatch.kind": _one_of(Literal["folder", "git"]),
    "NewSession.kind": _one_of(Literal["worker", "embedded"]),
    "close_session.status": _one_of(Literal["success", "error", "unknown"]),
    "state": STATES,
    "states": STATES,
    # JSON.
    "payload": PAYLOAD,
    "ScheduleChanges.payload": CHANGED_PAYLOAD,
    "TemplateChanges.payload": CHANGED_PAYLOAD,
    "result": DOCUMENT,
    "data": DOCUMENT,
    "artifacts": DOCUMENT,
    "trigger": _text("a JSON object as text, of at most 1000 characters", 1_000, r"^[^\x00]*$"),
    # Numbers.
    "priority": _number(-MAX_PRIORITY, MAX_PRIORITY),
    "generation": _number(0, 2**62),
    "due": MOMENT,
    "deadline": MOMENT,
    "created_after": MOMENT,
    "pid_started_at": MOMENT,
    "NewWebhook.timeout_ms": _number(1, LONGEST_TIMEOUT_MS),
    "WebhookChanges.timeout_ms": _number(1, LONGEST_TIMEOUT_MS),
    "debounce_ms": DURATION,
    "settle_ms": DURATION,
    "max_wait_ms": DURATION,
    "max_jobs": _number(1, 10_000),
    "delay_ms": DURATION,
    "ttl_ms": DURATION,
    "timeout_ms": SPAN,
    "set_tokens.timeout_ms": DURATION,
    "wait_ms": DURATION,
    "duration_ms": DURATION,
    "initial_ms": DURATION,
    "cap_ms": DURATION,
    "NewReservation.ttl_ms": SPAN,
    "factor": _number(1, 1_000_000),
    "retries": _number(0, 1_000_000),
    "infra": _number(0, 1_000_000),
    "fraction": _number(0, 1),
    "concurrency": _number(0, 1_000_000),
    "rate_limit": _number(1, MOST_STARTS),
    "rate_window_ms": _number(1, LONGEST_WINDOW),
    "max_length": _number(0, MOST_WAITING),
    "breaker": _number(0, MOST_FAILURES),
    "breaker_for_ms": _number(1, LONGEST_OPEN_MS),
    "clear": Rule(f"settings out of {', '.join(QueueSetting)}, each once", most=len(QueueSetting)),
    "slots": _number(0, MOST_SLOTS),
    "cpu": _number(0, MOST_TOKENS),
    "gpu": _number(0, MOST_TOKENS),
    "io": _number(0, MOST_TOKENS),
    **{f"Simulation.{name}": _number(0, most) for name, most in NUMBERS.items()},
    "exit_code": _number(-(2**31), 2**31 - 1),
    "pid": _number(0, 2**31 - 1),
    "jitter_ms": _number(0, MAX_JITTER),
    "expires_in_ms": SPAN,
    "hello.protocol": _number(1, 1_000),
    "count": _number(1, 100),
    "upto": _number(0, MAX_INT),
    "limit": _number(1, 1_000),
    "bulk.limit": _number(1, 10_000),
    "changed_files.limit": _number(1, MOST_CHANGED),
    "changed_files.after": _text(
        f"at most {LONGEST_PATH} characters, no control characters", LONGEST_PATH, r"^[^\x00-\x1f\x7f]*" + _END, 0
    ),
    "cancel_tag.limit": _number(1, 10_000),
    "cancel_group.limit": _number(1, 10_000),
    "read_log.limit": _number(0, 1 << 20),
    "run_log.limit": _number(0, 16 << 20),
    "tail": _number(0, 16 << 20),
    "offset": _number(0, 2**62),
    "lines": _number(0, 10_000),
    "wait.timeout_ms": _number(0, LONGEST_WAIT_MS),
    "exchange_wait.timeout_ms": _number(0, LONGEST_WAIT_MS),
    "artifact.name": _label(1_000),
    "patterns": Rule(
        "names of events, or beginnings of names with * behind",
        Meta(pattern=rf"^({_NAME})?\*?{_END}", min_length=1, max_length=MAX_NAME),
        most=MOST_PATTERNS,
    ),
}


def rule_of(owner: str, field: str) -> Rule | None:
    """The rule for a field of a shape or of a call; None: only its type says what it may be."""
    return RULES.get(f"{owner}.{field}") or RULES.get(field)
