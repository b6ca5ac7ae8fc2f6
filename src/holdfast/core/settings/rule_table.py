"""What a value may be, by the name of its field: one table for the SDK, HTTP, the CLI, TOML and the scripts.

A field is named as HTTP names it. Each surface gives its own word for it, and gets the same words about its value.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal, TypeVar

from msgspec import Meta, Raw

from holdfast.core.declared.option import JobOption
from holdfast.core.declared.options import OPTIONS
from holdfast.core.declared.setting import Setting
from holdfast.core.errors import InvalidInput
from holdfast.core.gates.fairness import MOST_WEIGHT
from holdfast.core.job import Millis, StateName
from holdfast.core.machine.maintenance import EVERY_CHORE, Chore
from holdfast.core.machine.readings import NUMBERS
from holdfast.core.rules import text_rules
from holdfast.core.rules.limits import (
    LONGEST_EXPRESSION,
    LONGEST_GRACE_S,
    LONGEST_PATH,
    LONGEST_SCHEMA,
    LONGEST_SECRET,
    LONGEST_TIMEOUT_MS,
    LONGEST_URL,
    MAX_DOC,
    MAX_INT,
    MAX_JITTER,
    MAX_NAME,
    MAX_PAYLOAD,
    MOST_CHANGED,
    MOST_PATTERNS,
    MOST_PER_ACTION,
    MOST_PER_PAGE,
    SHORTEST_SECRET,
)
from holdfast.core.rules.number_rules import Number, Period, Whole
from holdfast.core.rules.rule import ChoiceRule, JsonObject, Rule, one_of, several
from holdfast.core.rules.text_rules import END, LABEL_PATTERN, NAME_PATTERN, CheckedText, SecretText, Text
from holdfast.core.rules.units import Duration
from holdfast.core.rules.value_rules import (
    ATTRIBUTES,
    CONCURRENCY,
    DOCUMENT,
    DURATION,
    FACTOR,
    JOBS,
    LABEL,
    MOMENT,
    NAME,
    PATTERN,
    REASON,
    RETRIES,
    SPAN,
    SUBJECT,
    TEXT,
    TOKEN_COUNT,
)
from holdfast.core.settings import queue_settings, watch_settings
from holdfast.core.settings.app_rules import APP_RULES
from holdfast.core.settings.queue_changes import QueueSetting
from holdfast.core.settings.workspace_rules import WORKSPACE_RULES

T = TypeVar("T")

MOST_SLOTS = 10_000
LONGEST_WAIT_MS = 3_600_000

_LITERAL: Any = Literal  # A type checker knows only those whose words are written down.
_UUID = r"^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}" + END

UUID = Text("a UUID in lower case, best a UUIDv7", 36, _UUID, 36)
SCOPE = Text(f"* or 1 to {MAX_NAME} letters, digits and _ . : / -", MAX_NAME, rf"^(\*|{NAME_PATTERN}){END}")
ID = LABEL
STATES = several(ChoiceRule(StateName, kind=StateName), most=len(StateName))


class JobReference(Rule):
    """The id of a job, or its number, which may be written as text. There is no job 0."""

    _text = Text("", MAX_NAME, r"^(?!0+$)" + LABEL_PATTERN)
    _number = Whole(1, MAX_INT)

    def __init__(self) -> None:
        kind = Annotated[str, self._text.meta] | Annotated[int, self._number.meta]
        super().__init__("the id of a job or its number", kind=kind)

    def allows(self, value: object) -> bool:
        """Whether the value is one of the two."""
        return self._text.allows(value) or self._number.allows(value)


JOB_REF = JobReference()
# Where a job is moved to: an end of its line, or a side of another job.
ENDS, SIDES = ("top", "bottom"), ("before", "after")
PAYLOAD = JsonObject(
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

# It may be None, so it cannot be raw JSON. It has no pattern: msgspec would free one beside a dict wrongly, and the
# process would crash when it ends.
CHANGED_PAYLOAD = JsonObject(PAYLOAD.says, kind=Annotated[str, Meta(max_length=MAX_PAYLOAD)] | dict[str, Raw])


class UrlRule(CheckedText):
    """An address for webhooks. What looks like a password in it is not repeated."""

    def refusal(self, what: str, value: object, says: str | None = None) -> InvalidInput:
        """What to raise for one that is not allowed."""
        return super().refusal(what, without_user(value) if isinstance(value, str) else value, says)


def without_user(url: str) -> str:
    """The same address with neither name nor password in it. A pattern could need the square of its length in time."""
    user, at, host = url.rpartition("@")
    scheme, slashes, _ = user.partition("//")
    return f"{scheme if slashes else ''}{slashes}***@{host}" if at else url


def _flaw_of_url(url: str) -> str | None:
    from holdfast.core.webhooks.webhook import flaw_of_url  # Few callers need it.

    return flaw_of_url(url)


def _flaw_of_host(word: str) -> str | None:
    from holdfast.core.webhooks.addresses import flaw_of_host

    return flaw_of_host(word)


_ASCII = r"^[\x21-\x7e]+" + END
URL = UrlRule(
    f"an http:// or https:// address of at most {LONGEST_URL} characters, without spaces",
    Text("", LONGEST_URL, _ASCII),
    _flaw_of_url,
)
SECRET = SecretText(
    f"{SHORTEST_SECRET} to {LONGEST_SECRET} letters, digits and signs, no spaces",
    LONGEST_SECRET,
    _ASCII,
    SHORTEST_SECRET,
)
HOST = CheckedText("a host, an address or a network, such as 10.1.0.0/16", text_rules.label(), _flaw_of_host)
_GRACE = Period(0, LONGEST_GRACE_S * 1000)
_WEBHOOK = {"url": URL, "secret": SECRET, "timeout_ms": Period(1, LONGEST_TIMEOUT_MS)}


def _rules_of(shape: str, settings: Mapping[str, Setting]) -> dict[str, Rule]:
    """The rules for the fields of a request that sets something."""
    fields = (field for setting in settings.values() for field in setting.fields.items())
    return {f"{shape}.{name}": kind.rule for name, kind in fields if kind.rule is not None}


_RULES: Mapping[str, Rule] = {
    **APP_RULES,
    **WORKSPACE_RULES,
    **_rules_of("QueueChanges", queue_settings.SETTINGS),
    **_rules_of("NewWatch", watch_settings.SETTINGS),
    "jobs": JOBS,
    "place": ChoiceRule((*ENDS, *SIDES)),
    "set_limit.concurrency": CONCURRENCY,
    "clear": Rule(f"settings out of {', '.join(QueueSetting)}", kind=QueueSetting, most=len(QueueSetting)),
    # Ids that the caller makes. A repeat of the call has the same.
    "NewJob.id": UUID,
    "NewTemplate.id": UUID,
    "NewSchedule.id": UUID,
    "run_schedule_now.id": UUID,
    "NewWebhook.id": UUID,
    "NewWatch.id": UUID,
    "NewReservation.id": UUID,
    "NewSession.id": UUID,
    "NewWorkspace.id": UUID,
    "NewSession.secret": SecretText("32 to 200 random characters", MAX_NAME, LABEL_PATTERN, 32),
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
    "find_job.ref": JOB_REF,
    "Dependency.job_id": JOB_REF,
    "Report.job_id": ID,
    "Progress.job_id": ID,
    "parent_job_id": ID,
    "run_id": ID,
    "holds": ID,
    "session_id": ID,
    "worker_id": ID,
    "reservation_id": ID,
    "ref": LABEL,
    "NewSchedule.template": LABEL,
    "ScheduleChanges.template": LABEL,
    "fingerprint": Text("f and 12 hexadecimal digits", 13, r"^f[0-9a-f]{12}" + END, 13),
    "delivery_id": ID,
    "event_id": ID,
    # Names and labels.
    "task": NAME,
    "tasks": NAME,
    "queues": SCOPE,
    "QueueSlots.queue": SCOPE,
    "NewTemplate.name": NAME,
    "NewSchedule.owner": LABEL,
    "owners": LABEL,
    "schedule_id": ID,
    "cron": text_rules.label(LONGEST_EXPRESSION),
    "expression": text_rules.label(LONGEST_EXPRESSION),
    "timezone": LABEL,
    "Offer.name": LABEL,
    "source": LABEL,
    "doc": text_rules.label(MAX_DOC),
    "list_tasks.after": Text(
        f"at most {MAX_NAME} letters, digits and _ . : / -", MAX_NAME, f"^({NAME_PATTERN})?{END}", 0
    ),
    "create_group.name": LABEL,
    "enqueue_group.name": LABEL,
    "list_events.name": PATTERN,
    "attributes": ATTRIBUTES,
    "name": NAME,
    "scope": SCOPE,
    "chore": one_of(_LITERAL[*map(str, Chore), EVERY_CHORE]),
    "weight": Whole(1, MOST_WEIGHT),
    "for_ms": DURATION,
    "reserved_by": LABEL,
    "cursor": LABEL,
    "host": LABEL,
    "boot_id": LABEL,
    "subject_prefix": SUBJECT,
    "error_text": LABEL,
    "reason": REASON,
    "code": text_rules.line(MAX_NAME),
    # What a task says. If its report were refused, its result would be lost.
    "Skipped.reason": TEXT,
    "Yielded.reason": TEXT,
    "Progress.text": TEXT,
    "NewWatch.path": Text(
        f"an absolute path of at most {LONGEST_PATH} characters, without control characters, . and .., not / itself",
        LONGEST_PATH,
        rf"^(/(?!\.\.?(/|{END}))[^/\x00-\x1f\x7f]+)+{END}",
    ),
    "lock_path": text_rules.label(LONGEST_PATH),
    "log_path": text_rules.label(LONGEST_PATH),
    "artifact_path": text_rules.label(LONGEST_PATH),
    "durability": ChoiceRule(("full", "normal")),
    "NewSession.kind": one_of(Literal["worker", "embedded"]),
    "close_session.status": one_of(Literal["success", "error", "unknown"]),
    "state": several(STATES, least=1, most=STATES.most),
    "states": STATES,  # None of them means all, as it does if the field is left out.
    # JSON.
    "payload": PAYLOAD,
    "ScheduleChanges.payload": CHANGED_PAYLOAD,
    "TemplateChanges.payload": CHANGED_PAYLOAD,
    "result": DOCUMENT,
    "data": DOCUMENT,
    "artifacts": DOCUMENT,
    "trigger": Text("a JSON object as text, of at most 1000 characters", 1_000, r"^[^\x00]*$"),
    # Numbers.
    "created_after": MOMENT,
    "pid_started_at": MOMENT,
    "set_tokens.timeout_ms": DURATION,
    "wait_ms": DURATION,
    "duration_ms": DURATION,
    "initial_ms": DURATION,
    "cap_ms": DURATION,
    "NewReservation.ttl_ms": SPAN,
    "factor": FACTOR,
    "retries": RETRIES,
    "infra": RETRIES,
    "fraction": Number(0, 1),
    "slots": Whole(0, MOST_SLOTS),
    "worker.slots": Whole(1, MOST_SLOTS),
    "memory_mb": Whole(1, 1 << 30),
    "cpu_s": Whole(1, 1 << 30),
    "grace_s": Number(0, LONGEST_GRACE_S, f"{_GRACE.bounds}, in seconds"),
    "grace_ms": _GRACE,
    "cpu": TOKEN_COUNT,
    "gpu": TOKEN_COUNT,
    "io": TOKEN_COUNT,
    **{f"Simulation.{name}": rule for name, rule in NUMBERS.items()},
    "exit_code": Whole(-(2**31), 2**31 - 1),
    "pid": Whole(0, 2**31 - 1),
    "jitter_ms": Period(0, MAX_JITTER),
    "expires_in_ms": SPAN,
    "hello.protocol": Whole(1, 1_000),
    "count": Whole(1, 100),
    "upto": Whole(0, MAX_INT),
    "limit": Whole(1, MOST_PER_PAGE),
    "bulk.limit": Whole(1, MOST_PER_ACTION),
    "changed_files.limit": Whole(1, MOST_CHANGED),
    "changed_files.after": text_rules.line(LONGEST_PATH),
    "cancel_tag.limit": Whole(1, MOST_PER_ACTION),
    "cancel_group.limit": Whole(1, MOST_PER_ACTION),
    "read_log.limit": Whole(0, 1 << 20),
    "run_log.limit": Whole(0, 16 << 20),
    "tail": Whole(0, 16 << 20),
    "offset": Whole(0, 2**62),
    "lines": Whole(0, 10_000),
    "run_number": Whole(1, MAX_INT),
    "top.interval": Period(200, 60_000),
    "bench.seconds": Period(1_000, 60_000),
    "wait.timeout_ms": Period(0, LONGEST_WAIT_MS),
    "exchange_wait.timeout_ms": Period(0, LONGEST_WAIT_MS),
    "artifact.name": text_rules.label(1_000),
    "patterns": several(PATTERN, least=1, most=MOST_PATTERNS),
    **{f"{shape}.{field}": rule for shape in ("NewWebhook", "WebhookChanges") for field, rule in _WEBHOOK.items()},
    "webhook_allow": HOST,
    # What a file, a program or the command line says.
    "daemon.workers": Whole(0, 1_000),
    "api.port": Whole(0, 65_535),
    "schema": Text(f"1 to {LONGEST_SCHEMA} letters, digits and _ . : / -", LONGEST_SCHEMA, NAME.pattern),
}


def rules_with(rules: Mapping[str, Rule], options: Iterable[JobOption]) -> Mapping[str, Rule]:
    """The table with the rules of the options of a job. An option may not be called as a field with another rule."""
    found = dict(rules)
    for option in options:
        rule = option.kind.rule
        assert rules.get(option.wire, rule) == rule, (
            f"a field {option.wire} has another rule; call the option otherwise"
        )
        if rule is not None:
            found[option.wire] = rule
    return found


RULES: Mapping[str, Rule] = rules_with(_RULES, OPTIONS.values())


def rule_of(owner: str, field: str) -> Rule | None:
    """The rule for a field of a shape or of a call. None: only its type limits it."""
    return RULES.get(f"{owner}.{field}") or RULES.get(field)


def millis(field: str, value: Duration, what: str | None = None) -> Millis:
    """A length of time as a program writes it, in milliseconds, if the table allows it for the field."""
    rule = RULES[field]
    assert isinstance(rule, Period)
    return rule.millis(what or field.removesuffix("_ms"), value)


def check(field: str, value: T, what: str | None = None) -> T:
    """The value, if the table allows it for the field. Otherwise InvalidInput, with the caller's word for it."""
    checked: T = RULES[field].check(what or field, value)
    return checked


def check_place(place: str, other: object) -> None:
    """Refuse a place that there is not, and one beside a job without that job."""
    check("place", place)
    if place in SIDES and other is None:
        raise InvalidInput(f"place {place!r} means nothing without another job: name the one that it goes {place}")
    if place in ENDS and other is not None:
        raise InvalidInput(f"place {place!r} is an end of the queue: name no other job with it")


def check_slots(what: str, value: int | Mapping[str, int]) -> int | dict[str, int]:
    """How many jobs of each queue run at once in one place: a number, or a number for each queue, where * is any."""
    if not isinstance(value, Mapping):
        return check("worker.slots", value, what)
    named = f"{what.removesuffix(' =')}: queue"
    return {check("scope", queue, named): check("slots", slots, what) for queue, slots in value.items()}
