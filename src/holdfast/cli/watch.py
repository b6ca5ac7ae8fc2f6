"""`holdfast watch`: folders and git repositories whose changes become jobs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from holdfast.cli.completion import named_watches, queues, tasks
from holdfast.cli.failing import FAILED, Ended, speak_up
from holdfast.cli.job_options import Anyway, Retries, Timeout, TokensWord, known_tasks, token_counts
from holdfast.cli.options import HomeOption, JsonOption, YesOption, choose
from holdfast.cli.output import GREEN, RED, YELLOW, Coloured, mark, put, show_fields, show_json, show_table
from holdfast.cli.times import ago, length, seconds, when
from holdfast.cli.words import Argument, Option, group_of

if TYPE_CHECKING:
    from holdfast.cli.watch_client import WatchClient
    from holdfast.store.scripts.watches import Watch

WatchArgument = Annotated[str, Argument("WATCH", help="A watch's name or id.", complete=named_watches)]


def add(
    path: Annotated[Path, Argument("PATH", help="The folder, or the repository.")],
    task: Annotated[
        str | None,
        Option(metavar="TASK", help="The task of the jobs; without one there are only events.", complete=tasks),
    ] = None,
    glob: Annotated[
        list[str] | None,
        Option("--glob", "-g", metavar="GLOB", help="Only these files, such as '**/*.py'. Repeatable."),
    ] = None,
    ignore: Annotated[
        list[str] | None, Option("--ignore", metavar="PATTERN", help="Not these, as in a .gitignore. Repeatable.")
    ] = None,
    git: Annotated[bool, Option("--git", help="Watch commits, switches, merges and rebases instead of files.")] = False,
    name: Annotated[str | None, Option(metavar="NAME", help="A name; by default that of the folder.")] = None,
    queue: Annotated[
        str | None, Option(metavar="QUEUE", help="The queue of the jobs; else the task says.", complete=queues)
    ] = None,
    payload: Annotated[
        str | None, Option(metavar="JSON", help='The arguments of the jobs, such as \'{"file": "{path}"}\'.')
    ] = None,
    subject: Annotated[str | None, Option(metavar="TEXT", help="What a job is about: the newest one wins.")] = None,
    tenant: Annotated[str | None, Option(metavar="TENANT", help="Whose jobs they are.")] = None,
    priority: Annotated[int | None, Option(metavar="N", help="Higher runs first; else the task says.")] = None,
    debounce: Annotated[str | None, Option(metavar="TIME", help="How long it must be quiet first.")] = None,
    max_wait: Annotated[str | None, Option(metavar="TIME", help="How long changes wait at most.")] = None,
    max_jobs: Annotated[
        int, Option(metavar="N", min=1, max=10_000, help="More changes than this in 10 s become one job.")
    ] = 100,
    no_gitignore: Annotated[bool, Option("--no-gitignore", help="Take in what git ignores, too.")] = False,
    initial: Annotated[bool, Option("--initial", help="Make jobs of what is there already, too.")] = False,
    settle: Annotated[str | None, Option(metavar="TIME", help="How long a file must have stopped changing.")] = None,
    timeout: Timeout = None,
    retries: Retries = None,
    tokens: TokensWord = None,
    replace: Annotated[bool, Option("--replace", help="Take the place of a watch with the same name.")] = False,
    anyway: Anyway = False,
    home: HomeOption = None,
    json: JsonOption = False,
) -> None:
    """Make jobs of what changes in a folder.

    \b
    Examples:
      holdfast watch add ./src --glob '**/*.py' --task index_file
      holdfast watch add . --git --task test_commit
    """
    from holdfast.cli.enqueue import read_object

    with known_tasks():
        watch = _client(home).add_watch(
            path,
            replace=replace,
            must_exist=not anyway,
            name=name,
            task=task,
            git=git,
            globs=glob or (),
            ignores=ignore or (),
            gitignore=not no_gitignore,
            queue=queue,
            payload=None if payload is None else read_object(payload),
            subject=subject,
            tenant=tenant,
            priority=priority,
            debounce=seconds("debounce", debounce),
            max_wait=seconds("max-wait", max_wait),
            max_jobs=max_jobs,
            initial=initial,
            settle=seconds("settle", settle),
            timeout=seconds("timeout", timeout),
            retry=retries,
            tokens=token_counts("--tokens ", tokens),
        )
    if json:
        show_json(watch)
    else:
        put(f"watch {watch.name} of {watch.path}: {_makes(watch)}")


def list_(home: HomeOption = None, json: JsonOption = False) -> None:
    """List the watches, and how they stand.

    \b
    Examples:
      holdfast watch ls
    """
    found = _client(home).watches()
    if json:
        show_json(found)
        return
    rows = [
        [
            watch.name,
            _status(watch),
            watch.kind,
            watch.task or "-",
            str(watch.files) if watch.kind == "folder" else "-",
            str(watch.jobs),
            "" if watch.changed_at is None else ago(watch.changed_at),
            watch.path,
        ]
        for watch in found
    ]
    head = ["name", "status", "kind", "task", "files", "jobs", "last change", "path"]
    show_table(head, rows, right=("files", "jobs"))


def show(watch: WatchArgument, home: HomeOption = None, json: JsonOption = False) -> None:
    """Show a watch.

    \b
    Examples:
      holdfast watch show src
    """
    _show(_client(home).watch(watch), json)


def remove(watch: WatchArgument, yes: YesOption = False, home: HomeOption = None, json: JsonOption = False) -> None:
    """Watch no longer. Jobs that were made stay.

    \b
    Examples:
      holdfast watch rm src
    """
    from holdfast.cli.asking import agree

    client = _client(home)
    found = client.watch(watch)
    agree(f"Delete watch {found.name} of {found.path}?", yes=yes)
    gone = client.remove_watch(found.id)
    show_json(gone) if json else put(f"watch {gone.name} is gone")


def pause(watch: WatchArgument, home: HomeOption = None, json: JsonOption = False) -> None:
    """Make no more jobs until it is resumed.

    What changes meanwhile is found then.

    \b
    Examples:
      holdfast watch pause src
    """
    paused = _client(home).pause_watch(watch)
    show_json(paused) if json else put(f"watch {paused.name} is paused; to go on: holdfast watch resume {paused.name}")


def resume(watch: WatchArgument, home: HomeOption = None, json: JsonOption = False) -> None:
    """Go on, with what changed in the meantime.

    \b
    Examples:
      holdfast watch resume src
    """
    resumed = _client(home).resume_watch(watch)
    show_json(resumed) if json else put(f"watch {resumed.name} goes on")


def examine(
    path: Annotated[Path, Argument("PATH", help="A file, whether it exists or not.")],
    home: HomeOption = None,
    json: JsonOption = False,
) -> None:
    """Say which watches a change at a path would reach, and what job it would become.

    The exit code is 1 if there is none.

    \b
    Examples:
      holdfast watch test src/app/main.py
    """
    found = _client(home).test_watches(path)
    if json:
        show_json(found)
    elif not found:
        put("no watch has this path in it; see: holdfast watch ls")
    for said in () if json else found:
        put(mark(said.is_meant), f" {said.watch}: {said.reason}")
        if said.task is not None:
            show_fields(
                [
                    ("  task", said.task),
                    ("  queue", said.queue),
                    ("  subject", said.subject),
                    ("  payload", said.payload),
                ]
            )
    if not any(said.is_meant for said in found):
        raise Ended(FAILED)


watch = group_of(
    "watch",
    "Watch folders and git repositories: what changes there becomes jobs.",
    {"add": add, "ls": list_, "show": show, "rm": remove, "pause": pause, "resume": resume, "test": examine},
)


def _client(home: Path | None) -> WatchClient:
    from holdfast.cli.watch_client import WatchClient

    choose(home)
    speak_up()
    return WatchClient()


def _makes(watch: Watch) -> str:
    what = "commits, switches, merges and rebases" if watch.kind == "git" else ", ".join(watch.globs) or "every file"
    return f"{what} → {watch.task or 'events only'}"


def _status(watch: Watch) -> Coloured:
    if not watch.enabled:
        return Coloured("paused", YELLOW)
    if watch.problem is not None:
        return Coloured(watch.problem, RED)
    if watch.waits_for is not None:
        return Coloured(f"waits for {watch.waits_for}", YELLOW)
    return Coloured("watching", GREEN) if watch.scanned_at is not None else Coloured("starting", YELLOW)


def _show(watch: Watch, json: bool) -> None:
    if json:
        show_json(watch)
        return
    show_fields(
        [
            ("watch", watch.name),
            ("status", _status(watch)),
            ("kind", watch.kind),
            ("path", watch.path),
            ("globs", ", ".join(watch.globs)),
            ("ignores", ", ".join(watch.ignores)),
            ("gitignore", "" if watch.kind == "git" else "respected" if watch.gitignore else "not respected"),
            ("task", watch.task),
            ("queue", watch.queue),
            ("payload", "" if watch.payload == "{}" else watch.payload),
            ("subject", watch.subject),
            ("tenant", watch.tenant),
            ("debounce", "" if watch.debounce_ms is None else length(watch.debounce_ms)),
            ("max wait", "" if watch.max_wait_ms is None else length(watch.max_wait_ms)),
            ("max jobs", str(watch.max_jobs)),
            ("settle", "" if watch.settle_ms is None else length(watch.settle_ms)),
            ("timeout", "" if watch.timeout_ms is None else length(watch.timeout_ms)),
            ("retries", "" if watch.policy is None else str(watch.policy.retries)),
            ("tokens", str(watch.tokens) if watch.tokens else ""),
            ("from", "holdfast.toml" if watch.origin == "file" else "by hand"),
            ("node", watch.node),
            ("files", str(watch.files) if watch.kind == "folder" else ""),
            ("changes", str(watch.changes)),
            ("jobs", str(watch.jobs)),
            ("changed", "" if watch.changed_at is None else when(watch.changed_at)),
            ("created", when(watch.created_at)),
        ]
    )
