"""What tests do to have tasks declared."""

from __future__ import annotations

from typing import Any

from holdfast.core.job import Millis
from holdfast.core.messages.sessions import Offer
from holdfast.core.tasks.task import DeclaredTask, TaskOptions
from holdfast.store.engine import Engine
from tests.store.acts import NOW, TASK, open_session


def declared(name: str = TASK, arguments: dict[str, Any] | None = None, **options: Any) -> DeclaredTask:
    """A task with these options."""
    return DeclaredTask(name=name, options=TaskOptions(**options), arguments=arguments or {})


def begin(engine: Engine, session: str, *tasks: DeclaredTask, now: Millis = NOW) -> None:
    """A worker begins that offers these."""
    names = tuple(task.name for task in tasks)
    offer = Offer(f"w-{session}", "w", tasks=names, queues=("default",), slots=1, declared=tasks)
    open_session(engine, session, now, offer=offer)


def schema(*needed: str, rest: bool = False, **types: str) -> dict[str, Any]:
    """The JSON schema of these arguments: `schema("a", a="string", b="integer")`."""
    properties = {name: {"type": kind} if kind else {} for name, kind in types.items()}
    return {"type": "object", "properties": properties, "required": list(needed), "additionalProperties": rest}
