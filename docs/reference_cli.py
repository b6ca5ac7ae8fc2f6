"""The page of the command line: made from the commands themselves, and from the shapes that `--json` prints."""

import re
from collections.abc import Iterator

import click
import msgspec
from reference_format import plain, table

from holdfast.cli.app import SECTIONS, load
from holdfast.cli.daemon.doctor import Finding
from holdfast.cli.daemon.top_frame import MachineFrame, TopView
from holdfast.cli.database.bench import Figures
from holdfast.client.resources.watches import WatchTest
from holdfast.core.jobs.run import Run
from holdfast.core.jobs.stored_job import Job
from holdfast.core.messages.access import NewToken, User
from holdfast.core.messages.apps import AppView
from holdfast.core.messages.conditions import Condition
from holdfast.core.messages.dead_letters import DeadLetterPage
from holdfast.core.messages.events import Emitted, EventPage, EventView
from holdfast.core.messages.groups import Group, GroupPage, GroupView
from holdfast.core.messages.jobs import Cancelling, Page
from holdfast.core.messages.machines import Machine as StoredMachine
from holdfast.core.messages.machines import NodeTokens
from holdfast.core.messages.maintenance import Violation
from holdfast.core.messages.queues import TenantView
from holdfast.core.messages.reservations import Reservation
from holdfast.core.messages.schedules import Schedule
from holdfast.core.messages.sessions import SessionRow, Worker
from holdfast.core.messages.stats import QueueStats, Stats
from holdfast.core.messages.tasks import KnownTask
from holdfast.core.messages.telemetry import ExecutionView, FailedCallPage, InvocationView, ListenerView, TimerView
from holdfast.core.messages.templates import Template
from holdfast.core.messages.watches import Watch
from holdfast.core.messages.webhooks import CreatedWebhook, DeliveryPage, DeliveryView, Webhook
from holdfast.core.messages.why import Why
from holdfast.core.messages.workspaces import WorkspaceChange, WorkspaceView
from holdfast.daemon.database import Compacted
from holdfast.store.sqlite.database_file import FileSize
from holdfast.wire.status import DaemonStatus, PlaceStatus

INTRODUCTION = """\
# Command line

`holdfast COMMAND --help` says the same in a terminal.

- A **job** is named by its number or by its id, a **group** by its name or by its id.
- A **time** is a number of seconds, or a text like `500ms`, `90s`, `1h30m`, `2d`.
- A **moment** is `18:30` (the next one), `2030-01-31` or `2030-01-31T18:30`, on the clock of this machine, or with a
  time zone: `2030-01-31T18:30+01:00`.
- A **state** is one of `SCHEDULED`, `QUEUED`, `RUNNING`, `DONE`, `FAILED`, `CANCELLED`, `SUPERSEDED`, `SKIPPED_TTL`
  and `SKIPPED_DEADLINE`, in any case of letters.
- Every command but `completion` takes `--json`. Its fields stay the same from version to version; new ones may be
  added. Moments are milliseconds since the epoch, UTC.
- They take `--home DIR` too, the folder of the daemon that they mean. The environment variable `HOLDFAST_HOME`
  says the same for all commands of a shell.
- Tables fit the terminal, and are whole where the output goes elsewhere. There is colour on a terminal only, and not
  with `NO_COLOR`.
- What would change many jobs at once asks first, with their number. `--yes` answers; where nobody can be asked it has
  to be given.
- `holdfast completion` teaches your shell to complete commands, options, jobs, tasks, queues and groups.

| exit code | meaning |
| --- | --- |
| 0 | all is well |
| 1 | it failed, or a job that was waited for is not done |
| 2 | a mistake in the words of the command |
| 3 | no daemon answers |
| 130 | Ctrl-C |
| other | `run --wait` and `direct` end with the exit code of the command; 128 + n if signal n killed it |"""

SHOWN: dict[str, object] = {"schedule": Schedule, "next": ["str"], "jobs": [Job]}
# What `--json` prints. A list is a list of these; a dictionary is an object with these fields.
JSON: dict[str, object] = {
    "up": {"pid": "int", "home": "str", "socket": "str", "log": "str"},
    "down": {"pid": "int", "home": "str", "workspaces": "list[str]"},
    "status": {
        "daemon": DaemonStatus,
        "stats": Stats,
        "workers": [Worker],
        "reservations": [Reservation],
        "machines": [StoredMachine],
        "tokens": [NodeTokens],
    },
    "top": TopView,
    "worker": "the log of the worker, one object in each line",
    "sessions": [{"session": SessionRow, "worker": "Worker | None"}],  # with --ended: EndedSessionPage
    "doctor": {"is_well": "bool", "findings": [Finding]},
    "run": Job,
    "enqueue": Job,
    "tasks": [KnownTask],
    "ls": Page,
    "show": {"job": Job, "runs": [Run], "conditions": [Condition]},
    "why": Why,
    "workspace create": WorkspaceView,
    "workspace ls": [WorkspaceView],
    "workspace show": WorkspaceView,
    "workspace start": WorkspaceView,
    "workspace stop": WorkspaceView,
    "workspace archive": WorkspaceView,
    "workspace delete": WorkspaceView,
    "workspace recover": WorkspaceView,
    "workspace set": WorkspaceView,
    "workspace touch": WorkspaceView,
    "workspace logs": None,
    "workspace shell": None,
    "workspace changes": [WorkspaceChange],
    "apps ls": [AppView],
    "apps show": AppView,
    "apps start": AppView,
    "apps stop": AppView,
    "listeners ls": [ListenerView],
    "listeners show": {"listener": ListenerView, "invocations": [InvocationView], "cursor": "str | None"},
    "timers ls": [TimerView],
    "timers show": {"timer": TimerView, "executions": [ExecutionView], "cursor": "str | None"},
    "timers run": TimerView,
    "timers cancel": TimerView,
    "errors": FailedCallPage,
    "emit": Emitted,
    "events ls": EventPage,
    "events show": EventView,
    "logs": "for each piece, in a line: `run_id`, `attempt`, `offset`, `end`, `eof` and `text`",
    "wait": [Job],
    "cancel": Cancelling,
    "retry": [Job],
    "move": Job,
    "dead ls": DeadLetterPage,
    "dead show": "for a fingerprint `DeadLetterJobs`, for a job `Letter`",
    "dead retry": "an object with a `Closing` for each fingerprint",
    "dead discard": "an object with a `Closing` for each fingerprint",
    "group create": Group,
    "group ls": GroupPage,
    "group show": GroupView,
    "group cancel": Cancelling,
    "group wait": GroupView,
    "group retry": "a list with the ids of the new jobs",
    "template add": Template,
    "template ls": [Template],
    "template show": Template,
    "template edit": Template,
    "template archive": Template,
    "template run": Job,
    "schedule add": SHOWN,
    "schedule ls": [Schedule],
    "schedule show": SHOWN,
    "schedule edit": SHOWN,
    "schedule pause": Schedule,
    "schedule resume": Schedule,
    "schedule rm": Schedule,
    "schedule run": Job,
    "schedule next": {"words": "str", "next": ["str"]},
    "watch add": Watch,
    "watch ls": [Watch],
    "watch show": Watch,
    "watch rm": Watch,
    "watch pause": Watch,
    "watch resume": Watch,
    "watch test": [WatchTest],
    "webhook add": CreatedWebhook,
    "webhook ls": [Webhook],
    "webhook show": Webhook,
    "webhook edit": Webhook,
    "webhook rm": Webhook,
    "webhook pause": Webhook,
    "webhook resume": Webhook,
    "webhook test": DeliveryView,
    "webhook deliveries": DeliveryPage,
    "webhook redeliver": [DeliveryView],
    "simulate": StoredMachine,
    "queue": [QueueStats],
    "pause": [QueueStats],
    "resume": [QueueStats],
    "tenant ls": [TenantView],
    "tenant weight": [TenantView],
    "tokens ls": [NodeTokens],
    "tokens set": NodeTokens,
    "access add": NewToken,
    "access ls": [User],
    "access revoke": User,
    "access rotate": NewToken,
    "activity": {"tenant": "str", "active_until": "int"},
    "direct": {"reservation": Reservation, "exit_code": "int"},
    "db path": {"path": "str", "is_postgres": "bool"},
    "db backup": {"file": "str", "bytes": "int"},
    "db restore": {"path": "str", "aside": "str | None"},
    "db check": [Violation],
    "db migrate": {"from": "int", "to": "int", "copy": "str | None"},
    "db compact": Compacted,
    "maintain": "without a chore a list of `ChoreView`, with one a list of `Job`",
    "bench": Figures,
    "completion": None,
}
# Described on another page, or below.
SHAPES: tuple[type[msgspec.Struct], ...] = (
    DaemonStatus,
    PlaceStatus,
    SessionRow,
    Finding,
    Figures,
    TopView,
    MachineFrame,
    Compacted,
    FileSize,
)
COMMON = {"home", "json"}  # said once, at the top


def cli() -> str:
    """The whole page."""
    parts = [INTRODUCTION]
    for title, names in SECTIONS.items():
        parts.append(f"## {title}")
        for name in names:
            parts += _section(name, load(name))
    parts.append("## Shapes")
    parts.append(
        "The others are in the [Python API](api.md#jobs-runs-and-answers); settings are in [Settings](settings.md)."
    )
    for shape in SHAPES:
        fields = [(f"`{field.name}`", f"`{plain(field.type)}`") for field in msgspec.structs.fields(shape)]
        parts += [f"### {shape.__name__}", (shape.__doc__ or "").partition("\n\n")[0], table(("field", "type"), fields)]
    return "\n\n".join(parts) + "\n"


def _section(name: str, command: click.Command) -> Iterator[str]:
    if isinstance(command, click.Group):
        yield f"### `holdfast {name}`"
        yield f"{command.help}"
        for word, inner in command.commands.items():
            yield from _section(f"{name} {word}", inner)
        return
    text, _, examples = (command.help or "").partition("\n\n\b\n")
    yield f"### `holdfast {name}{_arguments(command)}`"
    yield re.sub(r"(?<!\n)\n(?!\n)", " ", text)
    options = [option for option in command.params if isinstance(option, click.Option)]
    rows = [_option(option) for option in options if not option.hidden and option.name not in COMMON]
    if rows:
        yield table(("option", "meaning"), rows)
    lines = [line.strip() for line in examples.splitlines()[1:]]
    if not lines:
        raise SystemExit(f"holdfast {name} has no example")
    yield "```text\n" + "\n".join(lines) + "\n```"
    if JSON[name] is not None:
        yield f"With `--json`: {_shape(JSON[name])}."


def _option(option: click.Option) -> tuple[str, str]:
    names = ", ".join(f"`{name}`" for name in sorted(option.opts, key=len))
    value = "" if option.is_flag else f" {option.metavar or 'VALUE'}"
    default = f" Default: `{option.default}`." if option.show_default else ""
    return f"{names}{value}", f"{option.help}{default}"


def _arguments(command: click.Command) -> str:
    return "".join(f" {argument.metavar}" for argument in command.params if isinstance(argument, click.Argument))


def _shape(shape: object) -> str:
    match shape:
        case str():
            return shape
        case [dict() as inner]:
            return _shape(inner).replace("an object", "a list of objects", 1)
        case [inner]:
            return f"a list of {_type(inner)}"
        case dict():
            return "an object with " + ", ".join(f"`{name}` ({_type(inner)})" for name, inner in shape.items())
    return _type(shape)


def _type(shape: object) -> str:
    match shape:
        case str():
            return f"`{shape}`"
        case [inner]:
            return f"a list of {_type(inner)}"
        case type():
            return f"`{shape.__name__}`"
    raise TypeError(shape)
