"""Queues: queue, pause, resume."""

from __future__ import annotations

from typing import Annotated

import typer

from holdfast.cli.options import HomeOption, JsonOption, client
from holdfast.cli.output import show_json, show_table

QueueArgument = Annotated[str, typer.Argument(help="The queue's name.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    for command in (queue, pause, resume):
        app.command(help=command.__doc__)(command)


def queue(
    name: Annotated[str | None, typer.Argument(help="The queue to change; without it, all are listed.")] = None,
    limit: Annotated[int | None, typer.Option(help="How many of its jobs may run at once.")] = None,
    home: HomeOption = None,
    json: JsonOption = False,
) -> None:
    """List queues, or limit one. Example: holdfast queue build --limit 2"""
    hf = client(home)
    if name is not None:
        hf.limit(name, limit)
    found = hf.queues()
    if json:
        show_json(found)
    else:
        show_table(
            ["queue", "limit", "paused"],
            [
                [row.name, str(row.concurrency or "-"), row.pause_reason or ("yes" if row.paused_at else "-")]
                for row in found
            ],
        )


def pause(
    name: QueueArgument,
    reason: Annotated[str | None, typer.Option(help="Why, for those who ask.")] = None,
    home: HomeOption = None,
) -> None:
    """Start nothing new from a queue. Example: holdfast pause build --reason "disk swap\""""
    client(home).pause(name, reason)
    print(f"{name} is paused")


def resume(name: QueueArgument, home: HomeOption = None) -> None:
    """Start jobs of a queue again. Example: holdfast resume build"""
    client(home).resume(name)
    print(f"{name} is resumed")
