"""Writes docs/reference/ from the docstrings, the signatures and the schema: `python docs/generate_reference.py`.

With `--check` nothing is written; the exit code says whether the pages are current. What cannot be read from the code
(a description for an option, a code or a table) stands in reference_texts.py, and a missing one stops the script.
"""

import inspect
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FunctionType
from typing import Any

import apsw
import msgspec
import reference_cli
import reference_daemon
import reference_http
from reference_format import call_of, doc, plain, shown, summary, table
from reference_texts import CODES, SETTINGS, TABLES

import holdfast
from holdfast import testing
from holdfast.apps.bus import Bus
from holdfast.apps.scheduler import Scheduler
from holdfast.cli.frame.typed import word_name
from holdfast.client.resources.filters import JobFilters
from holdfast.client.resources.group_handle import GroupHandle
from holdfast.client.resources.watches import WatchTest
from holdfast.core import job as jobs
from holdfast.core.apps.predicates import P
from holdfast.core.declared.option import JobOption, RetryKind, SaidIn
from holdfast.core.declared.options import OPTIONS
from holdfast.core.errors import HoldfastError
from holdfast.core.gates.gates import Closed, Open
from holdfast.core.messages.apps import AppView
from holdfast.core.messages.conditions import Condition
from holdfast.core.messages.events import Emitted, EventPage, EventView, Told, Triggered
from holdfast.core.messages.groups import Group, GroupPage, GroupView
from holdfast.core.messages.jobs import BulkResult, Cancelling, Page
from holdfast.core.messages.maintenance import Violation
from holdfast.core.messages.reservations import Reservation
from holdfast.core.messages.runs import Artifact, LogPart
from holdfast.core.messages.sessions import EndedSession, EndedSessionPage, Worker
from holdfast.core.messages.stats import QueueStats, Stats
from holdfast.core.messages.tasks import KnownTask, TaskVersion
from holdfast.core.messages.telemetry import (
    ExecutionPage,
    ExecutionView,
    FailedCall,
    FailedCallPage,
    InvocationPage,
    InvocationView,
    ListenerView,
    TimerView,
)
from holdfast.core.messages.watches import Watch
from holdfast.core.messages.webhooks import CreatedWebhook, DeliveryPage, DeliveryView, Webhook
from holdfast.core.messages.why import Why
from holdfast.core.messages.workspaces import WorkspaceChange, WorkspaceView
from holdfast.core.rules.tokens import NO_TOKENS
from holdfast.core.values.retry import RetryPolicy, Tries
from holdfast.core.workspaces.conditions import WorkspaceCondition
from holdfast.tasks.context import JobInfo
from holdfast.tasks.raising import TaskError

FOLDER = Path(__file__).parent / "reference"
SOURCE = Path(holdfast.__file__).parent
NOTE = "<!-- Written by docs/generate_reference.py; edit the docstrings instead. -->\n\n"
SCHEDULES = ("run_in", "run_at", "run_every", "run_daily", "run_cron", "register")
# Needed by other parts of Holdfast, not by its users.
INTERNAL = {"forget", "prepare", "enqueue_from", "aenqueue_from"}
CODE = re.compile(r'(?<!code=)"(ERR_[A-Z_]+)"')  # not the ones that a user of an example made up
RAISED = (holdfast.Transient, holdfast.Permanent, holdfast.Infra, holdfast.Snooze, holdfast.Skip)
STATES: tuple[type[msgspec.Struct], ...] = (
    jobs.Scheduled,
    jobs.Queued,
    jobs.Running,
    jobs.Done,
    jobs.Failed,
    jobs.Cancelled,
    jobs.Superseded,
    jobs.SkippedTtl,
    jobs.SkippedDeadline,
)
ANSWERS: tuple[type[msgspec.Struct], ...] = (
    JobInfo,
    Page,
    Why,
    Open,
    Closed,
    Cancelling,
    BulkResult,
    Group,
    GroupView,
    GroupPage,
    Stats,
    QueueStats,
    Worker,
    KnownTask,
    TaskVersion,
    Reservation,
    Violation,
    LogPart,
    Artifact,
    Condition,
    holdfast.Event,
    Emitted,
    EventView,
    EventPage,
    Triggered,
    Told,
    Webhook,
    CreatedWebhook,
    DeliveryView,
    DeliveryPage,
    Watch,
    WatchTest,
    AppView,
    WorkspaceView,
    WorkspaceCondition,
    WorkspaceChange,
    ListenerView,
    TimerView,
    InvocationView,
    InvocationPage,
    ExecutionView,
    ExecutionPage,
    FailedCall,
    FailedCallPage,
    EndedSession,
    EndedSessionPage,
    RetryPolicy,
    Tries,
)


def api() -> str:
    """The public names, in the order in which a reader meets them."""
    parts = [
        "# Python API",
        "Everything here is imported from `holdfast`, unless its module is named. A call that touches the database has "
        "an awaitable twin with the prefix `a`, for programs with an event loop: `enqueue` and `aenqueue`. Durations "
        'are seconds, a `timedelta` or a text such as `"1h30m"`; moments are `datetime` with a time zone. Stored '
        "moments are milliseconds since the epoch, UTC.",
        *class_section(holdfast.Holdfast),
        *class_section(holdfast.Task, show_call=False),
        *class_section(holdfast.JobHandle, show_call=False),
        *class_section(GroupHandle, show_call=False),
        *class_section(holdfast.Context, show_call=False),
        *class_section(holdfast.Retry),
        *class_section(holdfast.App, show_call=False),
        *member("bus.on", Bus.on, "###"),
        "### `scheduler`",
        *doc(Scheduler),
        *(part for name in SCHEDULES for part in member(f"scheduler.{name}", getattr(Scheduler, name), "###")),
        *member("P", P, "###"),
        "## What a task may raise",
        *(part for kind in RAISED for part in [f"### `{call_of(kind, kind.__name__)}`", *doc(kind)]),
        "## Jobs, runs and answers",
        "These are frozen structs: read their fields. `JobId`, `RunId` and `SessionId` are text, `Millis` is a whole "
        "number of milliseconds.",
        *filters_section(),
        *struct_section(holdfast.Job),
        "### States",
        "`job.state` is one of these; `job.state.name` is its `StateName`, and it carries only what exists in that "
        "state. `handle.state` is the name alone.",
        table(("name", "carries", "meaning"), [state_row(kind) for kind in STATES]),
        *struct_section(holdfast.Run),
        "### RunStatus",
        *doc(holdfast.RunStatus),
        ", ".join(f"`{status.value}`" for status in holdfast.RunStatus) + ".",
        *(part for kind in ANSWERS for part in struct_section(kind)),
        "## For receivers of webhooks",
        *member("verify_webhook", holdfast.verify_webhook, "###"),
        "## holdfast.testing",
        *doc(testing),
        *(part for name in sorted(testing.__all__) for part in member(name, getattr(testing, name), "###")),
    ]
    return "\n\n".join(parts) + "\n"


def errors() -> str:
    """Every error type with its code, and every code that is stored with a job."""
    # Those of the API have a table on the page of the API.
    kinds = [kind for kind in subclasses(HoldfastError) if not kind.__module__.startswith("holdfast.api")]
    used = {code for path in SOURCE.rglob("*.py") for code in re.findall(CODE, path.read_text())}
    stored = used - {kind.code for kind in kinds} - {kind.default_code for kind in subclasses(TaskError, own=False)}
    stored -= reference_http.HTTP_CODES.keys()
    if stored != CODES.keys():
        raise SystemExit(f"CODES in reference_texts.py and the code differ in {sorted(stored ^ CODES.keys())}")
    parts = [
        "# Errors",
        "Every error that Holdfast raises on purpose is a `HoldfastError` with a stable `code`. A message says what "
        "was wrong, with the value, and what to do. Import the types from `holdfast`.",
        "## Raised to the caller",
        table(
            ("type", "code", "is also a", "meaning"),
            [(f"`{kind.__name__}`", f"`{kind.code}`", bases(kind), summary(kind)) for kind in kinds],
        ),
        "## Raised by tasks",
        "A task raises these to say what its failure means; see "
        "[Retry and fail well](../how-to/retry-and-fail-well.md). `code=` sets another code.",
        table(
            ("type", "code", "meaning"),
            [
                (f"`{kind.__name__}`", f"`{kind.default_code}`", summary(kind))
                for kind in subclasses(TaskError, own=False)
            ],
        ),
        "## Stored with a job or a run",
        "`run.error_code` and `job.state.error_code` hold the code of the error that the task raised: the `code` of "
        "`Transient`, `Permanent` or `Infra`, the name of the type for any other exception, `EXIT_<code>` or "
        "`SIGNAL_<name>` for a process that ended so, or one of these.",
        table(("code", "meaning"), [(f"`{code}`", text) for code, text in sorted(CODES.items())]),
    ]
    return "\n\n".join(parts) + "\n"


def settings() -> str:
    """What can be set, where, and what it is by default."""
    parts = [
        "# Settings",
        "What can be set in a program is an argument. A daemon has a file with settings.",
        "## `Holdfast(path_or_url, …)`",
        table(("argument", "default", "meaning"), arguments(holdfast.Holdfast, SETTINGS)),
        "## Options of a task or of one job",
        "`@hf.task(…)` sets them for every job of the task, `task.options(…)` and `enqueue` for one call. Templates, "
        "schedules and watches keep some of them for their jobs, and a queue has some for jobs that say nothing. Not "
        "set means: as the task says, or else the default. `@hf.task` also takes `name=`; without it the task is named "
        "after the function.",
        'A retry by hand, of a group, and each further try with `mode="chain"` make a new job, which keeps what the '
        "column `kept` names; every other try is of the same job. `node` has words of its own on the command line: "
        "`--here`, `--node` and `--anywhere`.",
        table(("option", "default", "command line", "HTTP", "may be said in", "kept", "filter", "meaning"), options()),
        "## Settings of a queue",
        "`hf.set_queue(…)` takes them, and so do `holdfast queue`, `PUT /v1/queues/{name}` and `[queues.NAME]` of a "
        "file. What is not named stays as it is. `clear` names what gets its default back; over HTTP by the name in "
        "the column `clear`.",
        table(("setting", "command line", "file", "HTTP", "`clear`", "meaning"), reference_daemon.queue_settings()),
        "## Settings of a watch",
        "`hf.add_watch(…)` takes them, and so do `holdfast watch add`, `POST /v1/watches` and `[[watch]]` of a file. "
        "What concerns its jobs is left to their task if it is not set.",
        table(("setting", "command line", "file", "HTTP", "meaning"), reference_daemon.settings_of_watches()),
        "## `Retry(retries, …)`",
        table(("argument", "default", "meaning"), arguments(holdfast.Retry, SETTINGS)),
        "## `hf.stop(…)`",
        table(("argument", "default", "meaning"), arguments(holdfast.Holdfast.stop, SETTINGS)),
        *reference_daemon.toml(),
        "## Logging",
        "In a program, Holdfast logs through the `logging` module, below the logger `holdfast`: `holdfast.worker` "
        "(failed runs, refused reports), `holdfast.recovery` (sessions found dead), `holdfast.embedded`, "
        "`holdfast.runtime`, `holdfast.store`. `ctx.log` is `holdfast.task.<task>`, and its records carry `job_id`, "
        "`run_id`, `task` and `attempt`. What a daemon logs, and how, is under [Metrics and logs](metrics.md).",
    ]
    return "\n\n".join(parts) + "\n"


def schema() -> str:
    """The tables of a SQLite file, each with its indexes and triggers."""
    connection = apsw.Connection(":memory:")
    connection.execute((SOURCE / "store" / "schema.sqlite.sql").read_text())
    found: dict[str, list[str]] = {}
    for owner, sql in connection.execute(
        "SELECT tbl_name, sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' "
        "ORDER BY tbl_name, type <> 'table', type, name"
    ):
        found.setdefault(owner, []).append(sql)
    if found.keys() != TABLES.keys():
        raise SystemExit(f"TABLES in reference_texts.py and the schema differ in {found.keys() ^ TABLES.keys()}")
    parts = [
        "# Schema",
        "The tables of a SQLite file. PostgreSQL has the same ones, in the schema that `Holdfast(…, schema=)` names, "
        "with `BIGINT` for `INTEGER`. Read them as you like; change them only through Holdfast. Moments are "
        "milliseconds since the epoch, UTC; ids are UUIDv7 text; JSON is text; booleans are 0 and 1.",
        "Some tables and columns wait for features that are not there yet; they are empty today.",
    ]
    for name, text in TABLES.items():
        parts += [f"## {name}", text, "```sql\n" + ";\n\n".join(found[name]) + ";\n```"]
    return "\n\n".join(parts) + "\n"


def class_section(kind: type, *, show_call: bool = True) -> list[str]:
    """A class: how to make one, what it is, and its members in the order of the source."""
    heading = kind.__name__
    parts = [f"## {heading}", *([f"`{call_of(kind, heading)}`"] if show_call else []), *doc(kind)]
    members: dict[str, Any] = {}
    for owner in kind.__mro__:
        if owner.__module__.startswith("holdfast"):
            members = members | {name: value for name, value in vars(owner).items() if is_shown(name, value)}
    twins = {base_of(value): name for name, value in members.items() if base_of(value)}
    for name, value in members.items():
        if not base_of(value):
            parts += member(name, value, "###", twins.get(name))
    return parts


def member(name: str, value: Any, level: str, twin: str | None = None) -> list[str]:
    """A function, method, property or class under a heading of its own."""
    if isinstance(value, property):
        title = f"{level} `{name}`"
        body = doc(value.fget)
    else:
        title = f"{level} `{call_of(value, name)}`"
        body = doc(value)
    parts = [title, *body, *([f"Awaitable twin: `{twin}`."] if twin else [])]
    if isinstance(value, type):
        for inner, function in vars(value).items():
            if is_shown(inner, function) and doc(function):
                called = inner if isinstance(function, property) else call_of(function, inner)
                parts += [f"`{called}`: {summary(function)}"]
    return parts


def is_shown(name: str, value: Any) -> bool:
    """Whether a member is for users."""
    return not name.startswith("_") and name not in INTERNAL and isinstance(value, FunctionType | property)


def base_of(value: Any) -> str | None:
    """The name of the call that this one is the awaitable twin of."""
    text = inspect.getdoc(value.fget if isinstance(value, property) else value) or ""
    found = re.match(r"The awaitable twin of `(\w+)`", text)
    return found.group(1) if found else None


def struct_section(kind: type[msgspec.Struct]) -> list[str]:
    """A struct and its fields."""
    hints = {
        name: hint for base in reversed(kind.__mro__) for name, hint in vars(base).get("__annotations__", {}).items()
    }
    rows = [(f"`{name}`", f"`{plain(hints[name])}`") for name in kind.__struct_fields__]
    properties = [name for name, value in vars(kind).items() if isinstance(value, property) and is_shown(name, value)]
    more = [f"`{name}`: {summary(getattr(kind, name).fget)}" for name in properties]
    return [f"### {kind.__name__}", *doc(kind), table(("field", "type"), rows), *more]


def state_row(kind: type[msgspec.Struct]) -> tuple[str, str, str]:
    carried = ", ".join(f"`{field}`" for field in kind.__struct_fields__)
    return f"`{kind.__struct_config__.tag}`", carried, summary(kind)


def options() -> Iterator[tuple[str, ...]]:
    """Every option: what it is called where, where it may be said, and which new jobs keep it."""
    for option in OPTIONS.values():
        places = ", ".join(place.name.lower() for place in SaidIn if place in option.said and place.name)
        word = "" if option.word is None else f"`{word_name(option.name, option.word)}`"
        kept = ", ".join(KEPT[again] for again in RetryKind if again in option.again)
        kept = {"": "never", ", ".join(KEPT.values()): "always"}.get(kept, kept)
        has_filter = "yes" if option.filters else ""
        yield f"`{option.name}`", default_of(option), word, f"`{option.wire}`", places, kept, has_filter, option.help


KEPT = {RetryKind.BY_HAND: "by hand", RetryKind.IN_CHAIN: "in a chain", RetryKind.IN_GROUP: "in a group"}


def default_of(option: JobOption) -> str:
    """What a job has if nothing is said, as a program would say it."""
    if option.default is None or option.default == NO_TOKENS:
        return ""
    return f"`{option.default.retries if isinstance(option.default, RetryPolicy) else option.default!r}`"


def filters_section() -> list[str]:
    """What lists and bulk actions can be filtered by."""
    rows = [(f"`{name}`", f"`{hint.__forward_arg__}`") for name, hint in JobFilters.__annotations__.items()]
    return ["### JobFilters", *doc(JobFilters), table(("filter", "type"), rows)]


def arguments(function: Callable[..., Any], texts: dict[str, dict[str, str]]) -> Iterator[tuple[str, str, str]]:
    """The parameters of a call with their defaults; each needs a description."""
    described = texts[function.__name__]
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name != "self":
            default = "" if parameter.default is parameter.empty else f"`{shown(parameter.default)}`"
            yield f"`{parameter.name}`", default, described[parameter.name]


def bases(kind: type) -> str:
    found = [base for base in kind.__bases__ if base is not Exception]
    return ", ".join(f"`{base.__name__}`" for base in found)


def subclasses(kind: Any, *, own: bool = True) -> Iterator[Any]:
    """A type and all below it, in the order of the source."""
    if own:
        yield kind
    for child in kind.__subclasses__():
        yield from subclasses(child)


def pages() -> dict[Path, str]:
    """Every page of the reference."""
    makers = {
        "api.md": api,
        "errors.md": errors,
        "settings.md": settings,
        "schema.md": schema,
        "metrics.md": reference_daemon.metrics,
        "cli.md": reference_cli.cli,
        "http.md": reference_http.http,
    }
    undocumented = set(holdfast.__all__) - set(re.findall(r"\w+", api() + errors()))
    if undocumented:
        raise SystemExit(f"public, but on no page: {sorted(undocumented)}")
    return {FOLDER / name: NOTE + make() for name, make in makers.items()}


def main() -> int:
    stale = [path for path, text in pages().items() if not path.exists() or path.read_text() != text]
    for path in stale:
        print(f"{'stale' if '--check' in sys.argv else 'written'}: {path.name}")
        if "--check" not in sys.argv:
            path.write_text(pages()[path])
    return int(bool(stale) and "--check" in sys.argv)


if __name__ == "__main__":
    sys.exit(main())
