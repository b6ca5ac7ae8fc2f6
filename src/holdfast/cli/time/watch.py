"""`holdfast watch`: folders and git repositories whose changes become jobs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from holdfast.cli.frame import completion, output, times, typed
from holdfast.cli.frame.clients import watch_client
from holdfast.cli.frame.command import group_of
from holdfast.cli.frame.failures import FAILED
from holdfast.cli.frame.options import YesOption
from holdfast.cli.frame.output import GREEN, RED, YELLOW, Coloured, Fields, Output
from holdfast.cli.frame.words import Argument, Option
from holdfast.cli.jobs import job_options
from holdfast.cli.jobs.job_options import Anyway
from holdfast.core.settings.watch_settings import SETTINGS

if TYPE_CHECKING:
    from holdfast.client.resources.watches import WatchTest
    from holdfast.core.messages.watches import Watch

WatchArgument = Annotated[str, Argument("WATCH", help="A watch's name or id.", complete=completion.named_watches)]
HEAD = ("name", "status", "kind", "task", "files", "jobs", "last change", "path")


class WatchWords:
    """The words for what can be said about a watch, for `**said: Annotated[Any, WatchWords()]`."""

    def hints(self) -> dict[str, Any]:
        """What the command line needs to know of each."""
        return typed.setting_words(SETTINGS, "NewWatch.")


def add(
    path: Annotated[Path, Argument("PATH", help="The folder, or the repository.")],
    replace: Annotated[bool, Option("--replace", help="Take the place of a watch with the same name.")] = False,
    anyway: Anyway = False,
    **said: Annotated[Any, WatchWords()],
) -> Output:
    """Make jobs of what changes in a folder.

    \b
    Examples:
      holdfast watch add ./src --glob '**/*.py' --task index_file
      holdfast watch add . --git --task test_commit
    """
    hf = watch_client()
    with job_options.known_tasks():
        watch = hf.add_watch(path, replace=replace, must_exist=not anyway, **typed.read_settings(hf, SETTINGS, said))
    return Output(watch, f"watch {watch.name} of {watch.path}: {_makes(watch)}")


def list_() -> Output:
    """List the watches, and how they stand.

    \b
    Examples:
      holdfast watch ls
    """
    found = watch_client().watches()
    return output.listed(found, HEAD, map(_row, found), right=("files", "jobs"))


def show(watch: WatchArgument) -> Output:
    """Show a watch.

    \b
    Examples:
      holdfast watch show src
    """
    found = watch_client().watch(watch)
    return output.described(found, _fields(found))


def remove(watch: WatchArgument, yes: YesOption = False) -> Output:
    """Watch no longer. Jobs that were made stay.

    \b
    Examples:
      holdfast watch rm src
    """
    from holdfast.cli.frame.confirm import agree

    hf = watch_client()
    found = hf.watch(watch)
    agree(f"Delete watch {found.name} of {found.path}?", yes=yes)
    gone = hf.remove_watch(found.id)
    return Output(gone, f"watch {gone.name} is gone")


def pause(watch: WatchArgument) -> Output:
    """Make no more jobs until it is resumed.

    What changes meanwhile is found then.

    \b
    Examples:
      holdfast watch pause src
    """
    paused = watch_client().pause_watch(watch)
    return Output(paused, f"watch {paused.name} is paused; to go on: holdfast watch resume {paused.name}")


def resume(watch: WatchArgument) -> Output:
    """Go on, with what changed in the meantime.

    \b
    Examples:
      holdfast watch resume src
    """
    resumed = watch_client().resume_watch(watch)
    return Output(resumed, f"watch {resumed.name} goes on")


def examine(path: Annotated[Path, Argument("PATH", help="A file, whether it exists or not.")]) -> Output:
    """Say which watches a change at a path would reach, and what job it would become.

    The exit code is 1 if there is none.

    \b
    Examples:
      holdfast watch test src/app/main.py
    """
    found = watch_client().test_watches(path)
    return Output(found, lambda: _show_tests(found), code=0 if any(said.is_meant for said in found) else FAILED)


def _show_tests(found: list[WatchTest]) -> None:
    if not found:
        output.put("no watch has this path in it; see: holdfast watch ls")
    for said in found:
        output.put(output.mark(said.is_meant), f" {said.watch}: {said.reason}")
        if said.task is not None:
            output.show_fields(
                [
                    ("  task", said.task),
                    ("  queue", said.queue),
                    ("  subject", said.subject),
                    ("  payload", said.payload),
                ]
            )


watch = group_of(
    "watch",
    "Watch folders and git repositories: what changes there becomes jobs.",
    {"add": add, "ls": list_, "show": show, "rm": remove, "pause": pause, "resume": resume, "test": examine},
)


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


def _row(watch: Watch) -> list[str]:
    return [
        watch.name,
        _status(watch),
        watch.kind,
        watch.task or "-",
        str(watch.files) if watch.kind == "folder" else "-",
        str(watch.jobs),
        "" if watch.changed_at is None else times.ago(watch.changed_at),
        watch.path,
    ]


def _fields(watch: Watch) -> Fields:
    return [
        ("watch", watch.name),
        ("status", _status(watch)),
        ("path", watch.path),
        *_said(watch),
        ("from", "holdfast.toml" if watch.origin == "file" else "by hand"),
        ("node", watch.node),
        ("files", str(watch.files) if watch.kind == "folder" else ""),
        ("changes", str(watch.changes)),
        ("jobs", str(watch.jobs)),
        ("changed", "" if watch.changed_at is None else times.when(watch.changed_at)),
        ("created", times.when(watch.created_at)),
    ]


def _said(watch: Watch) -> Iterator[tuple[str, str]]:
    """The settings of the watch. Those with their defaults are left out."""
    for setting in SETTINGS.values():
        value = getattr(watch, setting.wire)
        label = setting.label or setting.name.replace("_", " ")
        if setting.name in _SPECIAL:
            yield label, _SPECIAL[setting.name](watch)
        elif value != setting.default:
            yield label, typed.text_of(setting.kind.typed, value)


_SPECIAL: Mapping[str, Callable[[Watch], str]] = {
    "name": lambda watch: "",  # It is shown at the top.
    "git": lambda watch: watch.kind,
    "gitignore": lambda watch: "" if watch.kind == "git" else "respected" if watch.gitignore else "not respected",
    "max_jobs": lambda watch: str(watch.max_jobs),
    "retry": lambda watch: "" if watch.policy is None else str(watch.policy.retries),
}
