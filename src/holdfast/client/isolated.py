"""`@hf.task(subprocess=True)`: what a user says about a task that runs in a process of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct, structs

from holdfast.core.errors import InvalidInput
from holdfast.core.rules.units import Duration
from holdfast.core.rules.value_rules import FLAG
from holdfast.core.settings import rule_table
from holdfast.runtime.sessions.processes import GRACE_S
from holdfast.tasks.isolation import Isolation, place_of
from holdfast.tasks.spec import TaskSpec, check_place, remember


class Isolated(Struct, frozen=True):
    """The checked options of one task."""

    module: Mapping[str, Any]
    memory_mb: int | None
    cpu_s: int | None
    grace_s: float

    @classmethod
    def of(
        cls,
        module: Mapping[str, Any],
        subprocess: bool,
        memory_mb: int | None,
        cpu: int | None,
        grace: Duration | None,
    ) -> Isolated | None:
        """The options. None for a task that runs inside its worker. `module` is where the task is made."""
        if not FLAG.check("subprocess", subprocess):
            for name, value in (("memory_mb", memory_mb), ("cpu", cpu), ("grace", grace)):
                if value is not None:
                    raise InvalidInput(f"{name}= is for a task in a process of its own; add subprocess=True")
            return None
        return cls(
            module,
            None if memory_mb is None else rule_table.check("memory_mb", memory_mb),
            None if cpu is None else rule_table.check("cpu_s", cpu, "cpu"),
            GRACE_S if grace is None else rule_table.millis("grace_ms", grace) / 1000,
        )

    def spec(self, inside: TaskSpec) -> TaskSpec:
        """The task as it runs in processes of its own. InvalidInput if no other process can load it."""
        spec = placed(inside, self.module)
        isolation = Isolation(place=check_place(spec), grace_s=self.grace_s, memory_mb=self.memory_mb, cpu_s=self.cpu_s)
        return structs.replace(spec, program=isolation.program)


def placed(spec: TaskSpec, module: Mapping[str, Any]) -> TaskSpec:
    """The task, with the place where another process finds it, if one can. `module` is where it is made."""
    place = place_of(spec.name, module, spec.function)
    spec = structs.replace(spec, place=place)
    if place is not None:
        remember(spec)
    return spec
