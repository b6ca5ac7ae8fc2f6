"""Changes on the disk become jobs: one each, one for all of them, or as many as their queue has room for."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from holdfast.core.errors import NotFound
from holdfast.core.jobs.requests import Claimed
from holdfast.core.messages.webhooks import NewWebhook
from holdfast.core.settings.queue_changes import QueueChanges
from holdfast.core.values.watch import SeenFile
from holdfast.core.watching.git import GitEvent, GitMove
from holdfast.core.watching.new_watch import NewWatch
from holdfast.store.engine import Engine
from holdfast.store.scripts.queues.queues import set_queue
from holdfast.store.scripts.watches.plans import note_scanned, note_waits, plan, plan_moves, take_in, tell
from holdfast.store.scripts.watches.watches import add_watch, remove_watch, settle_file_watches
from holdfast.store.scripts.webhooks.webhooks import put_webhook
from tests.chaos.scenarios.shared import DOOMED, NOW, Scenario, begin, take
from tests.store.acts import write

LATER = NOW + 2


def watch(name: str, **fields: Any) -> NewWatch:
    """A watch whose jobs are of the one task there is."""
    return NewWatch(id=f"w-{name}", name=name, **{"path": f"/{name}", "task": "work"} | fields)


def watched_world(engine: Engine) -> dict[str, Claimed]:
    """A folder and a repository of which something is known, and somebody who hears of changes."""
    begin(engine, DOOMED)
    wanted = NewWebhook(id="hook", url="http://hook.example", patterns=("file:*", "git:*"), secret="a-secret-of-ours")
    write(engine, put_webhook, wanted, NOW)
    write(engine, add_watch, watch("src", tenant="team"), NOW)
    write(engine, add_watch, watch("repo", kind="git"), NOW)
    write(engine, plan, "w-src", 1, [SeenFile("known", "1"), SeenFile("gone", "1"), SeenFile("same", "1")], NOW)
    write(engine, note_scanned, "w-src", 1, NOW)
    write(engine, plan_moves, "w-repo", 1, None, "at-1", [], NOW)
    return take(engine, DOOMED)


CHANGED = [
    SeenFile("known", "2"),
    SeenFile("gone", None),
    SeenFile("same", "1"),
    SeenFile("new", "1"),
    SeenFile("newer", "1"),
]


def act_plan(engine: Engine, runs: dict[str, Claimed]) -> None:
    write(engine, plan, "w-src", 1, CHANGED, LATER)


def told_world(engine: Engine) -> dict[str, Claimed]:
    """One job about many files waits already."""
    runs = watched_world(engine)
    write(engine, take_in, "w-src", 1, [SeenFile("earlier", "1"), SeenFile("known", "0")], NOW)
    write(engine, tell, "w-src", NOW)
    return runs


def act_tell(engine: Engine, runs: dict[str, Claimed]) -> None:
    """Too many for single jobs: taken in by parts, then one job about all of them, and about those that waited."""
    for part in (CHANGED[:3], CHANGED[3:]):
        write(engine, take_in, "w-src", 1, part, LATER)
    write(engine, tell, "w-src", LATER)


def narrow_world(engine: Engine) -> dict[str, Claimed]:
    """The queue has room for two more jobs."""
    runs = watched_world(engine)
    write(engine, set_queue, "default", QueueChanges(max_length=2))
    return runs


def act_burst(engine: Engine, runs: dict[str, Claimed]) -> None:
    """What fits of it becomes jobs; of the rest nothing is remembered, and it waits for room."""
    held = write(engine, plan, "w-src", 1, CHANGED, LATER).held
    write(engine, note_waits, "w-src", f"{len(held)} changes wait for room")


def act_plan_moves(engine: Engine, runs: dict[str, Claimed]) -> None:
    moves = [GitMove(GitEvent.COMMIT, "a", "b", "main"), GitMove(GitEvent.BRANCH, "b", "c", "other")]
    write(engine, plan_moves, "w-repo", 1, "at-1", "at-2", moves, LATER)


def settled_world(engine: Engine) -> dict[str, Claimed]:
    """Watches of the settings beside those that were added by hand, with changes that nobody was told of yet."""
    runs = watched_world(engine)
    write(engine, settle_file_watches, [watch("kept"), watch("moved"), watch("dropped")], "node", NOW)
    for name in ("kept", "moved", "dropped"):
        write(engine, take_in, f"w-{name}", 1, [SeenFile("file", "1")], NOW)
    write(engine, take_in, "w-src", 1, [SeenFile("untold", "1")], NOW)
    return runs


def act_settle_watches(engine: Engine, runs: dict[str, Claimed]) -> None:
    now_wanted = [watch("kept"), watch("moved", path="/elsewhere"), watch("brought")]
    write(engine, settle_file_watches, now_wanted, "node", LATER)


def act_change_watches(engine: Engine, runs: dict[str, Claimed]) -> None:
    write(engine, add_watch, watch("added"), LATER)
    write(engine, add_watch, NewWatch(id="other-id", name="src", path="/other", task="work"), LATER, replace=True)
    with suppress(NotFound):  # A repeat finds that the watch is gone.
        write(engine, remove_watch, "repo")


WATCHING: dict[str, Scenario] = {
    "plan": Scenario(watched_world, act_plan),
    "tell": Scenario(told_world, act_tell, commits=3),
    "burst": Scenario(narrow_world, act_burst, commits=2),
    "plan moves": Scenario(watched_world, act_plan_moves),
    "settle watches": Scenario(settled_world, act_settle_watches),
    "change watches": Scenario(settled_world, act_change_watches, commits=3, can_repeat=False),
}
