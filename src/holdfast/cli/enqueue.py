"""`holdfast enqueue`: a job of any task."""

from __future__ import annotations

import sys
from typing import Annotated, Any

from holdfast.cli.clients import client
from holdfast.cli.completion import tasks
from holdfast.cli.job_options import PLACE, Anyway, OptionWords, known_tasks, machine, read_options
from holdfast.cli.output import Output
from holdfast.cli.times import seconds
from holdfast.cli.words import Argument, Option
from holdfast.core.option import SaidIn


def enqueue(
    task: Annotated[str, Argument("TASK", help="The task's name.", complete=tasks)],
    payload: Annotated[
        str, Argument("[JSON]", help="Its arguments as a JSON object; - reads them from standard input.")
    ] = "{}",
    wait: Annotated[bool, Option("--wait", help="Wait for the result and print it.")] = False,
    anyway: Anyway = False,
    **said: Annotated[Any, OptionWords(SaidIn.CALL, **PLACE)],
) -> Output:
    """Queue a job of any task, and print its number.

    What is not said is as the task declares. A task that no worker has declared is refused, unless you insist.

    \b
    Examples:
      holdfast enqueue index_file '{"path": "a.py"}' --queue code
      holdfast enqueue double '{"x": 21}' --wait
    """
    hf = client()
    here, node, anywhere = said.pop("here"), said.pop("node"), said.pop("anywhere")
    hf.wait_for_room(seconds("wait-for-room", said.pop("wait_for_room")))
    options = read_options(hf, said) | {"node": machine(hf, here, node, anywhere)}
    with known_tasks():
        handle = hf.enqueue(task, read_object(payload), must_exist=not anyway, **options)
    if wait:
        from holdfast.cli.wait import result_of

        return result_of(hf.job(handle.id))
    return Output(lambda: handle.job, handle.number)


def read_object(given: str) -> dict[str, Any]:
    """The arguments of a job as they were typed, or as they come from standard input."""
    from holdfast.core.payload import read_payload

    text = sys.stdin.read() if given == "-" else given
    return dict(read_payload(text.encode("utf-8", "surrogateescape")))
