"""`holdfast enqueue`: a job of any task."""

from __future__ import annotations

from typing import Annotated, Any

from holdfast.cli.frame import completion, given, times
from holdfast.cli.frame.clients import client
from holdfast.cli.frame.output import Output
from holdfast.cli.frame.words import Argument, Option
from holdfast.cli.jobs import job_options
from holdfast.cli.jobs.job_options import PLACE, Anyway, OptionWords
from holdfast.core.declared.option import SaidIn


def enqueue(
    task: Annotated[str, Argument("TASK", help="The task's name.", complete=completion.tasks)],
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
    hf.wait_for_room(times.seconds("wait-for-room", said.pop("wait_for_room")))
    options = job_options.read_options(hf, said) | {"node": job_options.machine(hf, here, node, anywhere)}
    with job_options.known_tasks():
        handle = hf.enqueue(task, given.read_object(payload), must_exist=not anyway, **options)
    if wait:
        from holdfast.cli.jobs.wait import result_of

        return result_of(hf.job(handle.id))
    return Output(lambda: handle.job, handle.number)
