"""Everything that can be said about a watch: each setting is declared once, here.

Made from it are the options of `add_watch`, the requests and answers of HTTP with their checks and their description,
the columns that are stored, the words of `holdfast watch add`, the lines of `holdfast watch show`, the keys of
`[[watch]]` in `holdfast.toml`, and the reference.
"""

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Annotated, Any, TypedDict

from msgspec import structs

from holdfast.core.declared import setting_kinds
from holdfast.core.declared.option import SaidIn, Typed, Word
from holdfast.core.declared.option_kinds import DURATION, FLAG, NAME, SUBJECT
from holdfast.core.declared.options import OPTIONS
from holdfast.core.declared.setting import Key, Setting, declared_in, option_of_jobs
from holdfast.core.declared.setting_kinds import ARGUMENTS, IS_GIT, POLICY
from holdfast.core.rules.limits import MOST_WATCH_JOBS
from holdfast.core.rules.number_rules import Whole
from holdfast.core.rules.tokens import NO_TOKENS, Tokens
from holdfast.core.rules.units import Duration
from holdfast.core.rules.value_rules import IGNORE
from holdfast.core.values.glob import GLOB
from holdfast.core.values.retry_option import Retry
from holdfast.core.values.watch import MAX_JOBS, WINDOW_S, WatchKind

of_jobs = partial(option_of_jobs, SaidIn.WATCH)


class WatchOptions(TypedDict, total=False):
    """Everything that can be said about a watch besides where it is; None stands for what is usual."""

    name: Annotated[
        str | None,
        Setting(
            kind=NAME,
            help="What it is called; by default as the folder is.",
            column="",  # It is stored with the watch, and stays when all else is told anew.
            key=Key(example='"src"'),
            word=Word(metavar="NAME", help="A name; by default that of the folder."),
        ),
    ]
    task: Annotated[
        str | None,
        Setting(
            kind=NAME,
            help="The task of the jobs; without one there are only events.",
            column="job_type",
            key=Key(example='"index_file"'),
            word=Word(metavar="TASK", complete="tasks"),
        ),
    ]
    git: Annotated[
        bool,
        Setting(
            kind=IS_GIT,
            help="`folder`: its files. `git`: commits, switches, merges, rebases.",
            wire="kind",
            default=WatchKind.FOLDER.value,
            label="kind",
            key=Key(name="kind", example='"folder"'),
            word=Word(help="Watch commits, switches, merges and rebases instead of files."),
        ),
    ]
    globs: Annotated[
        Iterable[str],
        Setting(
            kind=setting_kinds.texts(GLOB),
            help="Which files; by default all.",
            default=[],
            key=Key(example='["**/*.py"]'),
            word=Word(names=("--glob", "-g"), metavar="GLOB", help="Only these files, such as '**/*.py'. Repeatable."),
        ),
    ]
    ignores: Annotated[
        Iterable[str],
        Setting(
            kind=setting_kinds.texts(IGNORE),
            help="Which not, as in a `.gitignore`.",
            default=[],
            key=Key(example='["generated/"]'),
            word=Word(names=("--ignore",), metavar="PATTERN", help="Not these, as in a .gitignore. Repeatable."),
        ),
    ]
    gitignore: Annotated[
        bool,
        Setting(
            kind=structs.replace(FLAG, typed=Typed.NO),
            help="Whether what git ignores is left out.",
            default=True,
            key=Key(example="true"),
            word=Word(names=("--no-gitignore",), help="Take in what git ignores, too."),
        ),
    ]
    queue: Annotated[str | None, of_jobs("queue", '"default"')]
    payload: Annotated[
        Mapping[str, Any] | None,
        Setting(
            kind=ARGUMENTS,
            help="The arguments of the jobs; `{path}` and others stand for what changed.",
            default="{}",
            key=Key(example='{ file = "{path}" }'),
            word=Word(metavar="JSON", help='The arguments of the jobs, such as \'{"file": "{path}"}\'.'),
        ),
    ]
    subject: Annotated[
        str | None,
        of_jobs(
            "subject",
            '"watch::{watch}::{relative}"',
            help="What a job is about; `{path}` and others stand for what changed. The newest one wins.",
            # Its braces name what changed, not an argument.
            kind=structs.replace(SUBJECT, take=None, typed=Typed.TEXT),
        ),
    ]
    tenant: Annotated[str | None, of_jobs("tenant", '"editor::holdfast"')]
    priority: Annotated[int | None, of_jobs("priority", "0")]
    debounce: Annotated[
        Duration | None,
        Setting(
            kind=DURATION,
            help="How long it must be quiet first; if not set, as `planner.debounce` says.",
            wire="debounce_ms",
            key=Key(example='"100ms"'),
            word=Word(metavar="TIME", help="How long it must be quiet first."),
        ),
    ]
    max_wait: Annotated[
        Duration | None,
        Setting(
            kind=DURATION,
            help=(
                "How long changes wait at most, however constant their stream is; if not set, as `planner.max_wait` "
                "says."
            ),
            wire="max_wait_ms",
            key=Key(example='"1s"'),
            word=Word(metavar="TIME", help="How long changes wait at most."),
        ),
    ]
    max_jobs: Annotated[
        int,
        Setting(
            kind=setting_kinds.number(Whole(1, MOST_WATCH_JOBS)),
            help=f"More changes than this within {WINDOW_S:g} s become one job.",
            default=MAX_JOBS,
            key=Key(example=str(MAX_JOBS)),
            word=Word(
                metavar="N", help=f"More changes than this in {WINDOW_S:g} s become one job; {MAX_JOBS} if not said."
            ),
        ),
    ]
    initial: Annotated[
        bool,
        Setting(
            kind=FLAG,
            help="Whether what is there already becomes jobs, too.",
            default=False,
            key=Key(example="false"),
            word=Word(help="Make jobs of what is there already, too."),
        ),
    ]
    settle: Annotated[
        Duration | None,
        Setting(
            kind=DURATION,
            help="How long a file must have stopped changing.",
            wire="settle_ms",
            key=Key(example='"2s"'),
            word=Word(metavar="TIME"),
        ),
    ]
    timeout: Annotated[Duration | None, of_jobs("timeout", '"10m"')]
    retry: Annotated[
        Retry | int | None,
        of_jobs("retry", "3", help="How its jobs are tried again, as in `[queues]`.", kind=POLICY, column="retry"),
    ]
    tokens: Annotated[Tokens | Mapping[str, int] | None, of_jobs("tokens", "{ cpu = 2 }", default=NO_TOKENS)]


SETTINGS: Mapping[str, Setting] = declared_in(WatchOptions)

OF_JOBS = tuple(setting for setting in SETTINGS.values() if setting.name in OPTIONS)


def options_of_jobs(watch: object) -> dict[str, Any]:
    """What a watch says about its jobs; what it does not say is left to their task."""
    said = {setting.wire: getattr(watch, setting.wire) for setting in OF_JOBS}
    return {wire: value for wire, value in said.items() if value is not None and value != _USUAL[wire]}


_USUAL = {setting.wire: setting.default for setting in OF_JOBS}
