"""Everything that can be set for a queue: each setting is declared once, here.

Made from it are the arguments of `set_queue`, the requests and answers of HTTP with their checks and their description,
the columns that are stored, what can be set back, the words of `holdfast queue`, the keys of `[queues.NAME]` in
`holdfast.toml`, and the reference.
"""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, TypedDict, TypeVar

from msgspec import Struct

from holdfast.core.declared import setting_kinds
from holdfast.core.declared.option import SaidIn, Word
from holdfast.core.declared.option_fields import extended
from holdfast.core.declared.options import OPTIONS
from holdfast.core.declared.setting import Key, Setting, declared_in, option_of_jobs
from holdfast.core.declared.setting_kinds import POLICY, RATE
from holdfast.core.gates.breaker import USUAL_FAILURES, USUAL_OPEN_MS
from holdfast.core.gates.queue import MOST_WAITING, Overflow, QueueClass, QueuePreset
from holdfast.core.rules.limits import LONGEST_OPEN_MS, MOST_FAILURES
from holdfast.core.rules.number_rules import Period, Whole
from holdfast.core.rules.units import Duration
from holdfast.core.rules.value_rules import CONCURRENCY
from holdfast.core.values.retry_option import Retry

T = TypeVar("T", bound=Struct)


def of_jobs(name: str, example: str, **more: Any) -> Setting:
    """An option for jobs that do not say it. It is as `options` declares it, but for what is said here."""
    assert name not in ("queue", "tenant", "priority"), f"{name} says which line a job joins, before its queue is asked"
    return option_of_jobs(SaidIn.QUEUE, name, example, **more)


class QueueSettings(TypedDict, total=False):
    """Everything that can be set for a queue. None leaves a setting as it is, and `clear` names those to set back."""

    limit: Annotated[
        int | None,
        Setting(
            kind=setting_kinds.number(CONCURRENCY),
            help="How many of its jobs may run at once, over all workers.",
            key=Key(example="2"),
            wire="concurrency",
            cleared_as="concurrency",
            word=Word(metavar="N", help="How many of its jobs may run at once."),
        ),
    ]
    rate: Annotated[
        str | tuple[int, Duration] | None,
        Setting(
            kind=RATE,
            help="How many of its jobs may start within any such time, over all workers.",
            key=Key(example='"10/min"'),
            word=Word(metavar="N/TIME", help="How many may start within any such time: 10/min, 5/s, 100/30s."),
        ),
    ]
    max_length: Annotated[
        int | None,
        Setting(
            kind=setting_kinds.number(Whole(0, MOST_WAITING)),
            help="How many of its jobs may wait; then it is full.",
            key=Key(example="1000"),
            word=Word(metavar="N", help="How many of its jobs may wait; more is refused."),
        ),
    ]
    overflow: Annotated[
        str | None,
        Setting(
            kind=setting_kinds.word_of(Overflow),
            help=(
                "When it is full: `reject` refuses new jobs, `shed` ends waiting ones of lower priority to make room."
            ),
            default=Overflow.REJECT,
            key=Key(example='"reject"'),
            word=Word(metavar="HOW", help="When it is full: reject new jobs, or shed waiting ones of lower priority."),
        ),
    ]
    queue_class: Annotated[
        str | None,
        Setting(
            kind=setting_kinds.word_of(QueueClass),
            help="How much its jobs burden the machine.",
            default=QueueClass.NORMAL,
            column="burden",
            key=Key(name="class", example='"normal"'),
            word=Word(
                names=("--class",),
                metavar="CLASS",
                help="How much its jobs burden the machine: light, normal or heavy.",
            ),
        ),
    ]
    retry: Annotated[
        Retry | int | None,
        of_jobs(
            "retry",
            "5",
            kind=POLICY,
            wire="retry",
            label="",  # It is told with the sentence about its jobs.
            help=(
                "How its jobs are tried again, if they do not say: a number, or a table with `retries`, `initial`, "
                "`factor`, `cap`, `mode` and `infra`."
            ),
            word=Word(
                names=("--retries",),
                metavar="N",
                field="retries",
                help="How often its jobs are tried again, if they do not say.",
            ),
        ),
    ]
    preset: Annotated[
        str | None,
        Setting(
            kind=setting_kinds.word_of(QueuePreset),
            help=(
                "How its jobs are tried again, by what they are for, if there is no `retry`: `cleanup` once, "
                "`indexing` 5 times, after 1 s, 3 s and so on up to 5 min."
            ),
            column="",  # It is stored as the retry that it stands for.
            cleared_with="retry",
            key=Key(example='"indexing"'),
            word=Word(
                metavar="PRESET",
                help="Retries by what its jobs are for: cleanup (1), indexing (5, 1s to 5m apart).",
            ),
        ),
    ]
    timeout: Annotated[
        Duration | None,
        of_jobs(
            "timeout",
            '"10m"',
            label="",  # It is told with the sentence about its jobs.
            help="How long a run may take, for jobs that do not say.",
            word=Word(metavar="TIME", help="How long a run may take, for jobs that do not say."),
        ),
    ]
    breaker: Annotated[
        int | None,
        Setting(
            kind=setting_kinds.number(Whole(0, MOST_FAILURES)),
            help=(
                "After so many failures in a row by the fault of the machine nothing of it starts for a while; 0: "
                "never mind."
            ),
            default=USUAL_FAILURES,
            key=Key(example=str(USUAL_FAILURES)),
            word=Word(metavar="N", help="Hold it back after N failures in a row by the machine's fault; 0: never."),
        ),
    ]
    breaker_for: Annotated[
        Duration | None,
        Setting(
            kind=setting_kinds.period(Period(1, LONGEST_OPEN_MS)),
            help="For how long nothing starts then; after that one job tries.",
            default=USUAL_OPEN_MS,
            wire="breaker_for_ms",
            cleared_with="breaker",
            key=Key(example='"30s"'),
            word=Word(metavar="TIME", help="How long it is held back then, until one job tries."),
        ),
    ]
    clear: str | Iterable[str]


SETTINGS: Mapping[str, Setting] = declared_in(QueueSettings)

OF_JOBS: Mapping[str, Setting] = {name: setting for name, setting in SETTINGS.items() if name in OPTIONS}

CLEARABLE = tuple(setting for setting in SETTINGS.values() if not setting.cleared_with)


def cleared_by(setting: Setting) -> list[Setting]:
    """The settings that are set back together with this one."""
    return [one for one in SETTINGS.values() if setting.name in (one.name, one.cleared_with)]


def change_fields(kind: type[T]) -> type[T]:
    """A request that has a field for every setting. None leaves it as it is."""
    fields = [field for setting in SETTINGS.values() for field in setting.fields.items()]
    return extended(kind, [(name, value.wire | None, None) for name, value in fields])
