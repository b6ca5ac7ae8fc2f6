"""`holdfast tasks`: what workers have declared that they can run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from holdfast.cli.frame import output, times
from holdfast.cli.frame.clients import client
from holdfast.cli.frame.completion import tasks as completed_tasks
from holdfast.cli.frame.options_shown import options_text
from holdfast.cli.frame.output import GREEN, GREY, Coloured, Fields, Output
from holdfast.cli.frame.words import Argument

if TYPE_CHECKING:
    from holdfast.core.messages.tasks import KnownTask, TaskVersion

HEAD = ("task", "workers", "queue", "arguments", "source", "about")


def tasks(
    task: Annotated[
        str | None, Argument("[TASK]", help="A task's name, to see all about it.", complete=completed_tasks)
    ] = None,
) -> Output:
    """List the tasks that workers have declared, or show one.

    Requests by name get the options of the newest version that a worker offers.

    \b
    Examples:
      holdfast tasks
      holdfast tasks index_file --json
    """
    hf = client()
    if task is not None:
        found = hf.find_task(task)
        return output.described(found, _fields(found))
    all_tasks = hf.tasks()
    none = "no worker has declared a task yet; try: holdfast up --app tasks.py"
    return output.listed(all_tasks, HEAD, map(_row, all_tasks), none=[none])


def _row(one: KnownTask) -> list[str]:
    newest = one.versions[0]
    return [
        one.name,
        _workers(one.workers),
        newest.options.queue or "default",
        arguments_text(newest.arguments),
        newest.source or "",
        newest.doc or "",
    ]


def _workers(count: int) -> str:
    return Coloured(str(count), GREEN) if count else Coloured("none", GREY)


def _fields(found: KnownTask) -> Fields:
    newest, *others = found.versions
    return [
        ("task", found.name),
        ("about", newest.doc),
        ("source", newest.source),
        ("workers", _workers(found.workers)),
        ("queue", newest.options.queue or "default"),
        ("options", options_text(newest.options, without="queue") or None),
        ("arguments", arguments_text(newest.arguments)),
        ("declared", times.when(newest.declared_at)),
        ("offered", None if newest.workers else times.ago(newest.offered_at)),
        *[("also", _also(other)) for other in others],
    ]


def _also(version: TaskVersion) -> str:
    """Another version in a few words."""
    offered = f"{version.workers} workers" if version.workers else f"offered {times.ago(version.offered_at)}"
    return f"({arguments_text(version.arguments)}), {offered}"


def arguments_text(schema: dict[str, Any] | None) -> str:
    """The arguments in one line: `path: string, depth?: integer`."""
    if schema is None:
        return "…"
    needed = schema.get("required", ())
    words = [f"{name}{'' if name in needed else '?'}{_kind(one)}" for name, one in schema.get("properties", {}).items()]
    return ", ".join([*words, *(["…"] if schema.get("additionalProperties") else [])])


def _kind(schema: dict[str, Any]) -> str:
    kind = schema.get("type")
    return f": {kind}" if isinstance(kind, str) else ""
