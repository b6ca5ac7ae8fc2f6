"""Random histories of a store: every operation is a rule, in any order, checked against the model after each step."""

from __future__ import annotations

from hypothesis.stateful import precondition, rule

from holdfast.store.scripts.queues.queues import list_queues
from tests.model.happenings import Happenings
from tests.model.hours import Hours
from tests.model.people import People
from tests.model.work import Work


class StoreMachine(Work, People, Happenings, Hours):
    """The life of a store."""

    @precondition(lambda self: len(self.history) % 9 == 0)
    @rule()
    def crash_and_restart(self) -> None:
        """What was acknowledged is there afterwards; the step itself changes nothing. Seldom: opening takes long."""
        self.place.crash()
        self.call(list_queues)
        self.expect(lambda model: None)
