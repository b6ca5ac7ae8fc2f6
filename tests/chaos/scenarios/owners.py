"""Apps: who calls their handlers."""

from __future__ import annotations

from holdfast.core.jobs.requests import Claimed
from holdfast.core.messages.apps import OfferedApp
from holdfast.core.messages.telemetry import RaisedError
from holdfast.store.engine import Engine
from holdfast.store.scripts.apps.app_owners import begin_app, fail_app, listen_app, release_app, take_apps
from holdfast.store.scripts.apps.records import forget_calls, record_calls
from tests.chaos.scenarios.shared import DOOMED, MINUTE, NOW, Scenario, begin
from tests.store.app_acts import record, registered

APPS = ("kitchen", "hall")


def offered_world(engine: Engine) -> dict[str, Claimed]:
    """A session that may take apps."""
    begin(engine, DOOMED)
    return {}


def owned_world(engine: Engine) -> dict[str, Claimed]:
    """Two apps that run."""
    offered_world(engine)
    act_take_apps(engine, {})
    act_begin_apps(engine, {})
    return {}


def act_take_apps(engine: Engine, runs: dict[str, Claimed]) -> None:
    offered = [OfferedApp(app_key, app_key.title()) for app_key in APPS]
    engine.submit(take_apps, DOOMED, offered, NOW).result()


def act_begin_apps(engine: Engine, runs: dict[str, Claimed]) -> None:
    for app_key in APPS:
        engine.submit(begin_app, DOOMED, app_key, ["siege:*", "job.*"], registered(), NOW).result()


def act_listen(engine: Engine, runs: dict[str, Claimed]) -> None:
    engine.submit(listen_app, DOOMED, "kitchen", ["siege:go", "group.*"]).result()


def act_record(engine: Engine, runs: dict[str, Claimed]) -> None:
    records = [record(app_key) for app_key in APPS]
    engine.submit(record_calls, DOOMED, 1, records, 3, NOW + 5).result()


def act_fail_app(engine: Engine, runs: dict[str, Claimed]) -> None:
    engine.submit(fail_app, DOOMED, "kitchen", RaisedError("ValueError", "kaputt", None)).result()


def act_release_app(engine: Engine, runs: dict[str, Claimed]) -> None:
    engine.submit(release_app, DOOMED, "kitchen").result()


def taken_world(engine: Engine) -> dict[str, Claimed]:
    """Two apps that start."""
    offered_world(engine)
    act_take_apps(engine, {})
    return {}


def act_forget(engine: Engine, runs: dict[str, Claimed]) -> None:
    engine.submit(forget_calls, NOW + MINUTE).result()


def recorded_world(engine: Engine) -> dict[str, Claimed]:
    """Two apps with calls on record."""
    owned_world(engine)
    act_record(engine, {})
    return {}


OWNERS: dict[str, Scenario] = {
    "take apps": Scenario(offered_world, act_take_apps),
    "begin apps": Scenario(taken_world, act_begin_apps, commits=len(APPS)),
    "fail an app": Scenario(owned_world, act_fail_app),
    "listen to other events": Scenario(owned_world, act_listen),
    "record calls": Scenario(owned_world, act_record),
    "forget calls": Scenario(recorded_world, act_forget),
    "release an app": Scenario(owned_world, act_release_app),
}
