"""Several processes share the tokens of a machine: never more than there are, and what a killed one held comes back."""

from __future__ import annotations

from pathlib import Path

from holdfast import Holdfast, Retry
from holdfast.core.messages.machines import TokenSetting
from holdfast.core.rules.tokens import Tokens
from holdfast.store.engine import Engine
from holdfast.store.scripts.machines.tokens import list_tokens, note_tokens
from tests.chaos.conftest import Start
from tests.chaos.database import Database, states
from tests.chaos.processes import until

MOST = 3
JOBS = 24


def test_processes_never_take_more_than_there_is_and_a_killed_one_gives_back(
    database: Database, engine: Engine, folder: Path, start: Start
) -> None:
    decided = TokenSetting(tokens=Tokens(cpu=MOST), is_default=False)
    hf = Holdfast(database.target, schema=database.schema)
    engine.submit(note_tokens, hf._access.engine.node, decided, True, 1).result()

    @hf.task(retry=Retry(0, initial=0.01))
    def use(cpu: int) -> None: ...

    use.options(tokens={"cpu": 2}).enqueue(cpu=2)
    doomed = start("token_user", *database.args, folder, MOST, "block")
    until((folder / "blocked").exists, "one of them holds two")
    for number in range(JOBS):
        cpu = number % MOST + 1
        use.options(tokens={"cpu": cpu}).enqueue(cpu=cpu)
    hf.close()
    workers = [start("token_user", *database.args, folder, MOST, "work") for _ in range(2)]
    until(lambda: states(engine).get("DONE", 0) > 2, "small ones run beside it")
    assert engine.query(list_tokens)[0].in_use.cpu >= 2
    doomed.kill()
    until(lambda: set(states(engine)) == {"DONE"}, "every job is done, the one of the killed process too")
    (folder / "done").touch()
    for worker in workers:
        worker.end_well()
    assert not (folder / "too-much").exists()
    assert engine.query(list_tokens)[0].in_use == Tokens()
