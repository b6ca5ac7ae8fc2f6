"""What machines and those who call tell of themselves: their sessions and tasks, steps of the clock, files, users."""

from __future__ import annotations

from contextlib import AbstractContextManager, suppress
from unittest.mock import patch

from holdfast.core.access import Role
from holdfast.core.errors import Conflict, NotFound
from holdfast.core.jobs.requests import Claimed, Report
from holdfast.core.machine.machine import JudgedMachine
from holdfast.core.machine.readings import Simulation
from holdfast.core.messages.machines import TokenSetting
from holdfast.core.messages.reservations import NewReservation
from holdfast.core.messages.sessions import NewSession, Offer
from holdfast.core.messages.webhooks import NewWebhook
from holdfast.core.rules.tokens import Tokens
from holdfast.core.tasks.task import DeclaredTask, TaskOptions
from holdfast.store.engine import Engine
from holdfast.store.scripts.access.users import add_user, note_use_of_token, revoke_user, rotate_token
from holdfast.store.scripts.machines.clock_steps import SeenStep, move_waiting, note_step
from holdfast.store.scripts.maintenance.probed_machines import note_machine, simulate
from holdfast.store.scripts.queues.reserve import release, reserve
from holdfast.store.scripts.runs.file_requests import (
    FileAnswer,
    FileKind,
    FileRequest,
    answer_file,
    ask_file,
    forget_requests,
    take_answer,
)
from holdfast.store.scripts.runs.finish import finish
from holdfast.store.scripts.sessions.sessions import close_session, open_session
from holdfast.store.scripts.webhooks.webhooks import put_webhook
from tests.chaos.scenarios.shared import AGAIN, BROKE, DAY, DOOMED, NOW, Scenario, begin, job, put, take
from tests.store.acts import write

HOUR = 3_600_000
SECRET = "what-only-this-worker-knows"
BUSY = JudgedMachine(is_idle=False, idle="in use", is_charging=False, charging="discharging", source="test")
BOTH = JudgedMachine(is_idle=True, idle="idle", is_charging=True, charging="on AC", source="test")


def delayed_world(engine: Engine) -> dict[str, Claimed]:
    """Jobs of two queues wait for a length of time, one for its next try, and one for a moment."""
    begin(engine, DOOMED)
    put(engine, job("again", policy=AGAIN))
    runs = take(engine, DOOMED).values()
    write(engine, finish, [Report(run.run_id, run.job_id, BROKE, 5) for run in runs], NOW)
    put(engine, *(job(f"later-{number}", delay_ms=DAY) for number in range(5)), job("then", due=NOW + DAY))
    return {}


def act_step_clock(engine: Engine, runs: dict[str, Claimed]) -> None:
    """As a loop does it that sees a step, or finds one under way; in batches of two."""
    write(engine, note_step, SeenStep(HOUR, 0, NOW + HOUR), NOW + HOUR)
    more = True
    while more:
        moved = write(engine, move_waiting, NOW + HOUR + 1, 2)
        more = moved is not None and not moved.is_last


def elder_world(engine: Engine) -> dict[str, Claimed]:
    """A machine from before machines had ids, and a version of a task that nobody offers any more."""
    elder = Offer("w-elder", "elder", ("work", "gone"), ("default",), 2, declared=(version("work"), version("gone")))
    write(engine, open_session, NewSession("elder", "daemon", "host", "boot", 1, None), elder, NOW - 1)
    write(engine, close_session, "elder", "success", NOW - 1)
    put(engine, job("one"))
    return {}


def version(task: str, **options: int) -> DeclaredTask:
    """A task as a worker declares it."""
    return DeclaredTask(name=task, options=TaskOptions(**options), arguments={})


def act_open_session(engine: Engine, runs: dict[str, Claimed]) -> None:
    tasks = (version("work", priority=3), version("other"))
    offer = Offer("w-new", "new", ("work", "other"), ("default",), 2, declared=tasks)
    tokens = TokenSetting(tokens=Tokens(cpu=4))
    session = NewSession(DOOMED, "daemon", "node-id", "boot", 1, None, tokens, host="host", secret=SECRET)
    write(engine, open_session, session, offer, NOW)


def leaving_world(engine: Engine) -> dict[str, Claimed]:
    """A session that offers tasks and holds a scope for which somebody waits in line."""
    elder_world(engine)
    act_open_session(engine, {})
    begin(engine, "other")
    write(engine, reserve, NewReservation("mine", "default", "somebody", DOOMED, DAY, 0), NOW)
    write(engine, reserve, NewReservation("next", "default", "other", "other", DAY, DAY, in_line=True), NOW)
    return {}


def act_close_session(engine: Engine, runs: dict[str, Claimed]) -> None:
    write(engine, close_session, DOOMED, "success", NOW + 2, SECRET)


def act_reserve(engine: Engine, runs: dict[str, Claimed]) -> None:
    write(engine, reserve, NewReservation("wide", "*", "third", DOOMED, DAY, DAY, in_line=True), NOW)
    for name in ("mine", "next", "wide"):
        write(engine, release, name, NOW + 1)


def asking_world(engine: Engine) -> dict[str, Claimed]:
    """Somebody on another machine wants two pieces of a log and an artifact, and has left without another one."""
    begin(engine, DOOMED)
    for start in (0, 3):
        write(engine, ask_file, FileRequest(f"piece-{start}", "node", "run", FileKind.LOG, start=start, most=3))
    for name in ("none", "left", "forgotten"):
        write(engine, ask_file, FileRequest(name, "node", "run", FileKind.ARTIFACT, name))
    return {}


def act_ask(engine: Engine, runs: dict[str, Claimed]) -> None:
    write(engine, ask_file, FileRequest("tail", "node", "run", FileKind.TAIL, start=10))


def act_answer(engine: Engine, runs: dict[str, Claimed]) -> None:
    """Each answer is read at most once, and another one changes nothing."""
    for start in (0, 3):
        write(engine, answer_file, f"piece-{start}", FileAnswer(start, 6, b"abc"))
        assert write(engine, take_answer, f"piece-{start}") in (FileAnswer(start, 6, b"abc"), None)
    write(engine, answer_file, "none", FileAnswer(problem="there is none"))
    write(engine, forget_requests, ["left", "forgotten"])


def peopled_world(engine: Engine) -> dict[str, Claimed]:
    begin(engine, DOOMED)
    for name in ("old", "gone"):
        with known_token(name):
            write(engine, add_user, name, Role.OPERATE, NOW)
    return {}


def known_token(token: str) -> AbstractContextManager[object]:
    """The same in every life, so that two of them can be compared."""
    return patch("secrets.token_urlsafe", return_value=token)


def act_users(engine: Engine, runs: dict[str, Claimed]) -> None:
    with known_token("rotated"):
        user = write(engine, rotate_token, "old", NOW, DAY).user
    write(engine, note_use_of_token, user.id, NOW)
    with known_token("new"), suppress(Conflict):  # A repeat finds that the user is there.
        write(engine, add_user, "new", Role.READ, NOW, DAY)
    with suppress(NotFound):  # A repeat finds that the user is gone.
        write(engine, revoke_user, "gone", NOW)


def probed_world(engine: Engine) -> dict[str, Claimed]:
    """A machine in use, jobs that wait until it is not, and somebody who hears of it."""
    begin(engine, DOOMED)
    wanted = NewWebhook(id="hook", url="http://hook.example", patterns=("machine.*",), secret="a-secret-of-ours")
    write(engine, put_webhook, wanted, NOW)
    write(engine, note_machine, "node", BUSY, None, NOW)
    return {}


def act_probe(engine: Engine, runs: dict[str, Claimed]) -> None:
    write(engine, note_machine, "node", BOTH, None, NOW + 1)
    write(engine, simulate, "node", Simulation(idle=False, memory=1), NOW + 2)


MACHINES: dict[str, Scenario] = {
    "step clock": Scenario(delayed_world, act_step_clock, commits=5),
    "open session": Scenario(elder_world, act_open_session),
    "close session": Scenario(leaving_world, act_close_session),
    "reserve": Scenario(leaving_world, act_reserve, commits=4),
    # Who asks once more makes another request.
    "ask": Scenario(asking_world, act_ask, can_repeat=False),
    "answer": Scenario(asking_world, act_answer, commits=6),
    "users": Scenario(peopled_world, act_users, commits=4),
    "probe": Scenario(probed_world, act_probe, commits=2, can_repeat=False),
}
