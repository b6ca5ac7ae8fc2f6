"""Drives a store and the model through the same history, and compares what each says after every step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from hypothesis.stateful import RuleBasedStateMachine

from holdfast.core.errors import HoldfastError
from holdfast.store.engine import Engine
from tests.model.model import Model
from tests.model.observe import Things, differences, in_model, in_store
from tests.model.records import Seen
from tests.model.wishes import Habits

P = ParamSpec("P")
T = TypeVar("T")

START = 1_700_000_000_000
PATIENCE_S = 30


class Place(Protocol):
    """Where the store of one history lives."""

    @property
    def engine(self) -> Engine:
        """The engine of the life that it is in."""

    def crash(self) -> None:
        """The process dies and another one opens what it left: `engine` is a new one afterwards."""

    def leave(self, history: list[Call]) -> None:
        """The history is over."""


class Call:
    """A script with its arguments, and what it answered: a value, or the error that a caller is meant to see."""

    def __init__(self, script: Callable[..., Any], args: tuple[Any, ...]) -> None:
        self.script = script
        self.args = args
        self.answer: Any = None

    def run(self, engine: Engine) -> Any:
        """Call it."""
        try:
            return engine.submit(self.script, *self.args).result(PATIENCE_S)
        except HoldfastError as error:
            return error


class Driver(RuleBasedStateMachine):
    """What rules need: a clock, ids, and a step that is taken by both sides."""

    habits: Habits

    def __init__(self, place: Place, counts: Counter[str]) -> None:
        super().__init__()
        self.place = place
        self.counts = counts
        self.model = Model()
        self.now = START
        self.ids = 0
        self.history: list[Call] = []
        self.store: Things = {}
        self.seen = Seen()

    def fresh(self, letter: str) -> str:
        """An id that nothing has yet."""
        self.ids += 1
        return f"{letter}{self.ids:04d}"

    def pick(self, things: Sequence[T], nth: int) -> T:
        """The n-th newest."""
        return things[-1 - nth % len(things)]

    def call(self, script: Callable[..., Any], *args: Any) -> Any:
        """The store takes a step. Its answer, which may be a refusal."""
        call = Call(script, args)
        call.answer = call.run(self.place.engine)
        self.history.append(call)
        self.counts[script.__name__] += 1
        self.store, self.seen = self.place.engine.query(in_store)
        return call.answer

    def expect(self, step: Callable[Concatenate[Model, P], T], *args: P.args, **kw: P.kwargs) -> T | None:
        """The model takes the same step; both must stand alike then. Its answer, or None where both refused."""
        answer = self.history[-1].answer
        after = self.model.copied(self.seen)
        expected: T | None = None
        refused: type[HoldfastError] | None = None
        try:
            expected = step(after, *args, **kw)
            self.model = after
        except HoldfastError as error:
            refused = type(error)
        if refused is None and isinstance(answer, HoldfastError):
            raise AssertionError(f"the store refused, the model did not: {answer!r}") from answer
        assert refused is None or type(answer) is refused, f"the model refused ({refused}), the store said {answer!r}"
        found = differences(self.store, in_model(self.model))
        assert not found, "\n".join(("store and model disagree:", *found))
        return expected

    def teardown(self) -> None:
        self.counts["histories"] += 1
        self.counts.update(f"jobs {job.state}" for job in self.model.jobs.values())
        self.place.leave(self.history)
