"""`@hf.task(subprocess=True)`: what a user says about a task that runs in a process of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct, structs

from holdfast.client.durations import Duration, to_millis
from holdfast.client.options import check_bool
from holdfast.core.errors import InvalidInput
from holdfast.core.limits import check_int
from holdfast.runtime.processes import GRACE_S
from holdfast.workers.command import MOST_CPU_S, MOST_MEMORY_MB
from holdfast.workers.isolation import Isolation, place_of
from holdfast.workers.spec import TaskSpec, remember


class Isolated(Struct, frozen=True):
    """The wishes of one task, checked."""

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
        """None for a task that runs inside its worker; `module` is where the task is made."""
        if not check_bool("subprocess", subprocess):
            for name, value in (("memory_mb", memory_mb), ("cpu", cpu), ("grace", grace)):
                if value is not None:
                    raise InvalidInput(f"{name}= is for a task in a process of its own; add subprocess=True")
            return None
        return cls(
            module,
            None if memory_mb is None else check_int("memory_mb", memory_mb, 1, MOST_MEMORY_MB),
            None if cpu is None else check_int("cpu", cpu, 1, MOST_CPU_S),
            GRACE_S if grace is None else to_millis("grace", grace) / 1000,
        )

    def spec(self, inside: TaskSpec) -> TaskSpec:
        """The task as it runs in processes of its own."""
        place = place_of(inside.name, self.module, getattr(inside.function, "__globals__", self.module))
        isolation = Isolation(place=place, grace_s=self.grace_s, memory_mb=self.memory_mb, cpu_s=self.cpu_s)
        spec = structs.replace(inside, program=isolation.program, place=place)
        remember(spec)
        return spec
