"""Why a job does not run."""

from __future__ import annotations

from msgspec import Struct

from holdfast.core.gates.gates import Closed, Verdict
from holdfast.core.job import JobId, StateName


class Why(Struct, frozen=True):
    """What every gate says about a job. A job that does not wait has none.

    `slots` are those that could take it, `free_slots` those of them that are free.
    """

    job_id: JobId
    state: StateName
    gates: list[Verdict]
    free_slots: int
    slots: int = 0

    @property
    def closed(self) -> list[Closed]:
        """The gates that hold it."""
        return [gate for gate in self.gates if isinstance(gate, Closed)]

    def __str__(self) -> str:
        if not self.gates:
            return f"job {self.job_id} does not wait: it is {self.state}"
        held = [f"{gate.reason} ({gate.now}); needs {gate.needs}" for gate in self.closed]
        return f"job {self.job_id} is {self.state}: " + ("; ".join(held) or "it is about to run")
