"""What is said about tokens to those who ask why, and who decides how many a machine has."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast.core.errors import InvalidInput, NotFound
from holdfast.core.gates.gates import Closed
from holdfast.core.job import JobId, Millis
from holdfast.core.messages.machines import TokenSetting
from holdfast.core.rules.tokens import Tokens
from holdfast.store.engine import Engine
from holdfast.store.scripts.claiming.why import why
from holdfast.store.scripts.machines.tokens import note_tokens, set_tokens
from tests.store.acts import (
    NOW,
    claim_one,
    claim_some,
    claimed_ids,
    put,
    write,
)
from tests.store.token_acts import (
    HAS,
    LATE,
    new_job,
    of_node,
    put_one,
    told_of,
    worker,
)


class TestGate:
    """What `why` says about tokens."""

    def closed(self, engine: Engine, job_id: JobId, now: Millis = NOW) -> str:
        [gate] = [gate for gate in engine.query(why, job_id, now).gates if gate.gate == "tokens"]
        return f"{gate.reason}; {gate.now}" if isinstance(gate, Closed) else "open"

    def test_it_says_what_is_in_use(self, engine: Engine, here: str) -> None:
        put(engine, new_job("first", cpu=3), new_job("big", cpu=2, io=1))
        claim_some(engine, session=here)
        assert self.closed(engine, "big") == "it needs 2 cpu, 1 io; 3 of 4 cpu, 0 of 2 io in use on node"

    def test_it_says_that_no_machine_has_so_many(self, engine: Engine, here: str) -> None:
        put_one(engine, "never", gpu=2)
        said = "it needs 2 gpu, more than any machine has that could run it; node has 4 cpu, 1 gpu, 2 io"
        assert self.closed(engine, "never") == said

    def test_it_names_the_job_that_room_is_kept_for(self, engine: Engine, here: str) -> None:
        put(engine, new_job("first", cpu=2), new_job("big", cpu=4))
        claim_some(engine, session=here)
        put_one(engine, "small", cpu=1, now=LATE)
        assert self.closed(engine, "small", NOW) == "open"
        said = "it needs 1 cpu, which are kept for a job that has waited for longer; job big waits for 4 cpu on node"
        assert self.closed(engine, "small", LATE) == said
        assert self.closed(engine, "big", LATE) == "it needs 4 cpu; 2 of 4 cpu in use on node"

    def test_it_is_open_while_one_machine_has_room(self, engine: Engine, here: str) -> None:
        worker(engine, "far", "far")
        put(engine, new_job("first", cpu=4), new_job("second", cpu=4))
        claim_some(engine, session=here)
        assert self.closed(engine, "second") == "open"


class TestCapacity:
    """How many tokens a machine has, and who says so."""

    def test_the_first_session_says_what_its_machine_has(self, engine: Engine, here: str) -> None:
        found = of_node(engine)
        assert (found.capacity, found.set_by, found.timeout_ms) == (HAS, "default", 30_000)

    @pytest.mark.parametrize(
        ("first", "then", "is_daemon", "has", "by"),
        [
            ("default", "default", False, 2, "default"),
            ("default", "settings", True, 2, "settings"),
            ("settings", "default", False, 1, "settings"),
            ("settings", "default", True, 2, "default"),
            ("settings", "settings", True, 2, "settings"),
        ],
    )
    def test_what_somebody_decided_stands_against_what_was_found_out(
        self, engine: Engine, first: str, then: str, is_daemon: bool, has: int, by: str
    ) -> None:
        for cpu, how, daemon in ((1, first, True), (2, then, is_daemon)):
            setting = TokenSetting(tokens=Tokens(cpu=cpu), is_default=how == "default")
            write(engine, note_tokens, "m", setting, daemon, NOW)
        found = of_node(engine, "m")
        assert (found.capacity.cpu, found.set_by) == (has, by)

    def test_a_program_with_few_cores_leaves_them_to_those_who_run(self, engine: Engine, here: str) -> None:
        few = TokenSetting(tokens=Tokens(cpu=1))
        write(engine, note_tokens, "node", few, False, NOW)
        assert of_node(engine).capacity == HAS
        write(engine, note_tokens, "node", few, True, NOW)
        assert of_node(engine).capacity == few.tokens

    def test_what_was_set_by_hand_stays_until_settings_say_otherwise(self, engine: Engine, here: str) -> None:
        write(engine, set_tokens, NOW, cpu=9)
        write(engine, note_tokens, "node", TokenSetting(tokens=HAS), True, NOW)
        assert of_node(engine).capacity == Tokens(cpu=9, gpu=1, io=2)

    def test_more_tokens_wake_those_who_wait_for_some(self, engine: Engine, here: str) -> None:
        put_one(engine, "big", cpu=8)
        assert claimed_ids(engine, session=here) == []
        assert told_of(engine, lambda: write(engine, set_tokens, NOW, cpu=8)) == {"default"}
        assert claimed_ids(engine, session=here) == ["big"]

    def test_fewer_tokens_let_runs_go_on_and_start_none(self, engine: Engine, here: str) -> None:
        put(engine, new_job("a", cpu=4), new_job("b", cpu=1))
        claim_one(engine, session=here)
        write(engine, set_tokens, NOW, cpu=1)
        assert claimed_ids(engine, session=here) == []

    @pytest.mark.parametrize("bad", [{"cpu": -1}, {"gpu": 10**7}, {"timeout_ms": -5}])
    def test_numbers_that_make_no_sense_are_refused(self, engine: Engine, here: str, bad: dict[str, Any]) -> None:
        with pytest.raises(InvalidInput):
            write(engine, set_tokens, NOW, **bad)
        assert of_node(engine).capacity == HAS

    def test_a_machine_that_nobody_knows_is_named(self, engine: Engine, here: str) -> None:
        with pytest.raises(NotFound, match="known are: node"):
            write(engine, set_tokens, NOW, node="nowhere", cpu=1)

    def test_among_several_machines_one_must_be_named(self, engine: Engine, here: str) -> None:
        worker(engine, "far", "far")
        with pytest.raises(InvalidInput, match="far, node"):
            write(engine, set_tokens, NOW, cpu=1)
