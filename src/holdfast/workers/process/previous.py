"""`PREVIOUS`: an argument that is filled with the result of the job before, when the run starts."""

from __future__ import annotations

from typing import Any

from msgspec import structs

from holdfast.core.errors import InvalidPayload
from holdfast.core.job import StateName
from holdfast.core.jobs.requests import Claimed
from holdfast.core.messages.jobs import Predecessor
from holdfast.core.values.filling import filled, gaps
from holdfast.tasks.context import Context
from holdfast.tasks.schema import PayloadSchema


def arguments_of(schema: PayloadSchema, context: Context) -> dict[str, Any]:
    """The arguments to call a task with."""
    names = gaps(context._claimed.payload)
    if not names:
        return schema.decode(context._claimed.payload)
    return _fitting(schema, context._claimed, names, context.predecessors())[1]


async def aarguments_of(schema: PayloadSchema, context: Context) -> dict[str, Any]:
    """The awaitable twin of `arguments_of`."""
    names = gaps(context._claimed.payload)
    if not names:
        return schema.decode(context._claimed.payload)
    return _fitting(schema, context._claimed, names, await context.apredecessors())[1]


def complete(schema: PayloadSchema, context: Context) -> tuple[Claimed, dict[str, Any]]:
    """The run with its complete payload, for a process of its own."""
    claimed = context._claimed
    names = gaps(claimed.payload)
    if not names:
        return claimed, schema.decode(claimed.payload)
    payload, arguments = _fitting(schema, claimed, names, context.predecessors())
    return structs.replace(claimed, payload=payload), arguments


def _fitting(
    schema: PayloadSchema, claimed: Claimed, names: list[str], before: list[Predecessor]
) -> tuple[str, dict[str, Any]]:
    ahead = [one for one in before if one.is_previous] or before
    where = f"argument {names[0]!r} of task {claimed.task!r} is to be the result of the job before it"
    if not ahead:
        raise InvalidPayload(f"{where}, but there is none, or it is gone by retention")
    for one in ahead:
        if one.state is not StateName.DONE:
            raise InvalidPayload(f"{where}, but job {one.number} ({one.task}) has no result: it is {one.state}")
    value = ahead[0].result if len(ahead) == 1 else [one.result for one in ahead]
    payload = filled(claimed.payload, names, value)
    try:
        return payload, schema.decode(payload)
    except InvalidPayload as error:
        who = " and ".join(f"job {one.number} ({one.task})" for one in ahead[:3])
        raise InvalidPayload(f"what {who} returned does not fit: {error}") from None
