"""Everything that can be said about a job: each option is declared once, here.

Made from it are the options of `@hf.task`, `Task.options` and `enqueue`, the requests of HTTP with their checks and
their description, what tasks, templates and schedules keep, the words of the command line, the columns that are stored
and those that a new try copies, the filters of lists, what `holdfast show` prints, and the reference.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Annotated, TypedDict

from msgspec import structs

from holdfast.core.declared import option_kinds
from holdfast.core.declared.option import FOR_EVERY_JOB, FOR_ONE_JOB, JobOption, RetryKind, SaidIn, Word
from holdfast.core.declared.option_kinds import (
    ATTRIBUTES,
    DURATION,
    EVENT,
    EXECUTION,
    FLAG,
    GENERATION,
    GROUP,
    LABEL,
    MOMENT,
    NAME,
    NODE,
    PRIORITY,
    RETRY,
    SUBJECT,
    TIMEOUT,
    TOKENS,
    VARIABLES,
    Execution,
    HasId,
    JobRef,
)
from holdfast.core.rules.tokens import NO_TOKENS, Tokens
from holdfast.core.rules.units import Duration
from holdfast.core.values.group import Needs
from holdfast.core.values.retry import RetryPolicy
from holdfast.core.values.retry_option import Retry
from holdfast.core.values.subject import DEFAULT_TENANT


class JobOptions(TypedDict, total=False):
    """Everything that can be said about a job; None leaves it to its task, then to its queue."""

    queue: Annotated[
        str | None,
        JobOption(
            kind=NAME,
            help="The queue of the job.",
            default="default",
            said=FOR_EVERY_JOB | SaidIn.WATCH,
            word=Word(names=("--queue", "-q"), metavar="QUEUE", help="Which queue.", complete="queues"),
            filters=True,
            told_to_worker=True,
        ),
    ]
    priority: Annotated[
        int | None,
        JobOption(
            kind=PRIORITY,
            help="Higher runs first within the queue.",
            default=0,
            said=FOR_EVERY_JOB | SaidIn.WATCH,
            word=Word(help="Higher runs first.", names=("--priority", "-p"), metavar="N"),
        ),
    ]
    delay: Annotated[
        Duration | None,
        JobOption(
            kind=DURATION,
            help="The job becomes ready after this duration, counted from the enqueue.",
            again=RetryKind.NEVER,
            wire="delay_ms",
            column="schedule_delay_ms",
            word=Word(help="How long to wait first.", metavar="TIME"),
        ),
    ]
    at: Annotated[
        datetime | None,
        JobOption(
            kind=MOMENT,
            help="The job becomes ready at this moment, in place of a `delay`.",
            said=FOR_ONE_JOB,
            again=RetryKind.NEVER,
            wire="due",
            column="scheduled_at",
            is_answered=False,
            word=Word(metavar="MOMENT", help="When: 18:30, or 2030-01-31T18:30."),
        ),
    ]
    ttl: Annotated[
        Duration | None,
        JobOption(
            kind=DURATION,
            help="How long the job may be ready without being started; then it ends as SKIPPED_TTL.",
            wire="ttl_ms",
            word=Word(help="Skip it if it is still waiting after this.", metavar="TIME"),
        ),
    ]
    deadline: Annotated[
        datetime | None,
        JobOption(
            kind=MOMENT,
            help="A moment. Waiting or running past it ends the job as SKIPPED_DEADLINE.",
            said=FOR_ONE_JOB,
            again=RetryKind.IN_CHAIN,
            word=Word(help="Skip or stop it at this moment.", metavar="MOMENT"),
            told_to_worker=True,
        ),
    ]
    timeout: Annotated[
        Duration | None,
        JobOption(
            kind=TIMEOUT,
            help="How long one run may take; longer is a transient failure. If not set, as the queue says.",
            said=FOR_EVERY_JOB | SaidIn.WATCH | SaidIn.QUEUE,
            wire="timeout_ms",
            word=Word(metavar="TIME", help="How long one run may take: 90s, 1h30m."),
            told_to_worker=True,
        ),
    ]
    retry: Annotated[
        Retry | int | None,
        JobOption(
            kind=RETRY,
            help="A `Retry`, or the number of retries. If not set, as the queue says.",
            default=RetryPolicy(),
            said=FOR_EVERY_JOB | SaidIn.WATCH | SaidIn.QUEUE,
            wire="policy",
            label="retries",
            word=Word(
                names=("--retries",),
                metavar="N",
                field="retries",
                help="How many tries may follow a first one that fails.",
            ),
        ),
    ]
    tag: Annotated[
        str | None,
        JobOption(
            kind=LABEL,
            help="A label to find and cancel jobs by.",
            column="user_tag",
            word=Word(help="A word to find it by.", metavar="TAG"),
            filters=True,
            told_to_worker=True,
        ),
    ]
    tenant: Annotated[
        str | None,
        JobOption(
            kind=LABEL,
            help=(
                "Whose job it is, which decides whose turn it takes. If not set, `client::repo` of a subject with "
                "three parts."
            ),
            default=DEFAULT_TENANT,
            said=FOR_EVERY_JOB | SaidIn.WATCH,
            word=Word(
                help="Whose turn it takes in the queue; else the subject says.", metavar="TENANT", complete="tenants"
            ),
            filters=True,
        ),
    ]
    subject: Annotated[
        str | None,
        JobOption(
            kind=SUBJECT,
            help=(
                "What the job is about; `{name}` stands for an argument. A newer generation of the same task and "
                "subject supersedes older ones."
            ),
            said=FOR_EVERY_JOB | SaidIn.WATCH,
            column="subject_key",
            word=Word(metavar="TEXT", help="What it is about; a newer job supersedes those that wait."),
            told_to_worker=True,
        ),
    ]
    generation: Annotated[
        int | None,
        JobOption(
            kind=GENERATION,
            help="Which version of the subject; if not set, the next one.",
            said=FOR_ONE_JOB,
            again=RetryKind.IN_CHAIN,
            told_to_worker=True,
        ),
    ]
    stop_older: Annotated[
        bool | None,
        JobOption(kind=FLAG, help="Whether an older generation that runs is asked to stop.", default=False),
    ]
    group: Annotated[
        HasId | str | None,
        JobOption(
            kind=GROUP,
            help="A group, or its id.",
            said=FOR_ONE_JOB,
            wire="group_id",
            word=Word(metavar="GROUP", help="The group it belongs to, by id or name."),
            filters=True,
        ),
    ]
    after: Annotated[
        JobRef | Iterable[JobRef] | None,
        JobOption(
            kind=option_kinds.jobs_that(Needs.DONE),
            help="Jobs that must be DONE first; if one of them ends otherwise, this job is CANCELLED.",
            said=FOR_ONE_JOB,
            again=RetryKind.NEVER,
            column="",
            word=Word(metavar="JOB", help="Only after this job is done. Repeatable.", complete="jobs"),
        ),
    ]
    after_ended: Annotated[
        JobRef | Iterable[JobRef] | None,
        JobOption(
            kind=option_kinds.jobs_that(Needs.ENDED),
            help="Jobs that must have ended first, whatever the outcome.",
            said=FOR_ONE_JOB,
            again=RetryKind.NEVER,
            wire="after",
            column="",
            word=Word(
                metavar="JOB",
                help="Only after this job has ended, whatever the outcome. Repeatable.",
                complete="jobs",
            ),
        ),
    ]
    idempotency_key: Annotated[
        str | None,
        JobOption(
            kind=LABEL,
            help="A second enqueue of the task with the same key returns the first job, for as long as that is kept.",
            said=FOR_ONE_JOB,
            again=RetryKind.IN_CHAIN,
            label="key",
            word=Word(help="An idempotency key: the same one twice is one job.", names=("--key",), metavar="KEY"),
        ),
    ]
    trace_id: Annotated[
        str | None,
        JobOption(
            kind=LABEL,
            help="Stored with the job and its runs; child jobs inherit it.",
            said=SaidIn.CALL | SaidIn.TASK,
            label="trace",
            told_to_worker=True,
        ),
    ]
    when_idle: Annotated[
        bool | None,
        JobOption(
            kind=FLAG,
            help="Whether the job starts only while nobody uses the machine.",
            default=False,
            wire="wait_for_idle",
            word=Word(help="Only while nobody uses the machine."),
        ),
    ]
    when_charging: Annotated[
        bool | None,
        JobOption(
            kind=FLAG,
            help="Whether the job starts only while the machine has mains power.",
            default=False,
            wire="require_charging",
            word=Word(help="Only while the machine has mains power."),
        ),
    ]
    tokens: Annotated[
        Tokens | Mapping[str, int] | None,
        JobOption(
            kind=TOKENS,
            help=(
                "What a run takes of its machine: a number for each of `cpu`, `gpu` and `io`. It starts only while "
                "the machine has so many free."
            ),
            default=NO_TOKENS,
            said=FOR_EVERY_JOB | SaidIn.WATCH,
            word=Word(metavar="KIND=N,...", help="What it takes of the machine while it runs: cpu=2,gpu=1,io=1."),
        ),
    ]
    execution: Annotated[
        Execution | None,
        JobOption(
            kind=EXECUTION,
            help=(
                "`subprocess`: a run has a process of its own; `in_process`: it runs inside its worker, as is usual. "
                "Commands and tasks made with `subprocess=True` always have a process of their own."
            ),
            default="in_process",
            column="execution_mode",
            word=Word(metavar="WHERE", help="in_process, or subprocess for a process of its own."),
            told_to_worker=True,
        ),
    ]
    env: Annotated[
        Mapping[str, str] | None,
        JobOption(
            kind=VARIABLES,
            help=(
                "Variables by name. A command and a task in a process of its own have them in their environment, every "
                "task in `ctx.env`."
            ),
            column="env_vars",
            word=Word(
                names=("--env", "-e"),
                metavar="NAME=VALUE",
                help="A variable for it; NAME alone takes it from here. Repeatable.",
            ),
        ),
    ]
    node: Annotated[
        str | None,
        JobOption(
            kind=NODE,
            help="The machine that alone may run the job, by name or id; `hf.here` is this one. If not set, any.",
            said=SaidIn.CALL | SaidIn.TASK,
            label="machine",
        ),
    ]
    on_event: Annotated[
        str | None,
        JobOption(
            kind=EVENT,
            help="The job waits for an event of this name, emitted after its enqueue; `git:*` means any ending.",
            again=RetryKind.IN_GROUP,
            wire="wait_for_event",
            word=Word(metavar="NAME", help="Only after this event, emitted from now on; git:* means any ending."),
        ),
    ]
    where: Annotated[
        Mapping[str, object] | None,
        JobOption(
            kind=ATTRIBUTES,
            help="What that event must have: attributes by name. All of them must be those of one event.",
            again=RetryKind.NEVER,
            wire="event_attributes",
            column="",
            word=Word(metavar="KEY=VALUE", help="What the event must have. Repeatable: one event has it all."),
        ),
    ]


def _declared() -> Iterator[JobOption]:
    for name, hint in JobOptions.__annotations__.items():
        [option] = hint.__metadata__
        label = option.label or name.replace("_", " ")
        option = structs.replace(option, name=name, wire=option.wire or name, label=label)
        assert option.is_comparable or not option.filters, (
            f"lists cannot be filtered by {name}: no column can be compared"
        )
        yield option


OPTIONS: Mapping[str, JobOption] = {option.name: option for option in _declared()}
# What a field of the wire is called in a program.
NAMES: Mapping[str, str] = {option.wire: option.name for option in OPTIONS.values()}


def options_for(said: SaidIn) -> list[JobOption]:
    """The options that may be given there."""
    return [option for option in OPTIONS.values() if said in option.said]


FILTERS = tuple(option for option in OPTIONS.values() if option.filters)
