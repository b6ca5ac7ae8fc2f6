"""What the settings of a daemon mean to its parts."""

from __future__ import annotations

from holdfast.core.gates.crowding import CrowdingRules
from holdfast.core.machine.machine import Rules
from holdfast.core.machine.measures import Thresholds
from holdfast.core.messages.machines import TokenSetting
from holdfast.core.rules.tokens import Tokens
from holdfast.daemon.settings.machine_settings import MachineSettings, PressureSettings, TokenSettings
from holdfast.daemon.settings.settings import PlannerSettings
from holdfast.runtime.machine.probe import Probing
from holdfast.runtime.node import own_tokens
from holdfast.runtime.planner.watched import PlannerOptions
from holdfast.wire.places import SYSTEM_WORDS, WorkerPlace, app_words


def places(apps: tuple[str, ...], workers: int) -> list[WorkerPlace]:
    """The places for workers: one for commands and the jobs of the system, and so many for the user's code."""
    with_code = [WorkerPlace(f"app-{number}", app_words(apps)) for number in range(1, workers + 1)] if apps else []
    return [WorkerPlace("system", SYSTEM_WORDS), *with_code]


def probing(settings: MachineSettings, pressure: PressureSettings) -> Probing:
    """How the machine is looked at, and the thresholds of its pressure."""
    rules = Rules(round(settings.idle_after * 1000), settings.idle_load)
    return Probing(rules=rules, thresholds=thresholds(pressure), every=settings.probe_every, is_eager=True)


def thresholds(pressure: PressureSettings) -> Thresholds:
    """The thresholds of the pressure of the machine."""
    return Thresholds(
        cpu=pressure.cpu,
        cpu_others=pressure.cpu_others,
        gpu=pressure.gpu,
        memory=pressure.memory,
        battery=pressure.battery,
        battery_critical=pressure.battery_critical,
        heat=pressure.heat,
        wal=pressure.wal,
        disk=pressure.disk,
        disk_bytes=pressure.disk_bytes,
        pull_interval_ms=round(pressure.pull_interval * 1000),
        enter_ms=round(pressure.enter_after * 1000),
        leave_ms=round(pressure.leave_after * 1000),
        unplugged_ms=round(pressure.unplugged * 1000),
    )


def tokens(settings: TokenSettings) -> TokenSetting:
    """The tokens that the settings give this machine. Those that they leave out are found out."""
    own = own_tokens()
    said = {"cpu": settings.cpu, "gpu": settings.gpu, "io": settings.io}
    has = Tokens(**{kind: getattr(own, kind) if count is None else count for kind, count in said.items()})
    is_default = settings == TokenSettings()
    return TokenSetting(tokens=has, timeout_ms=round(settings.timeout * 1000), is_default=is_default)


def crowding(settings: PressureSettings) -> CrowdingRules:
    """The thresholds at which a queue counts as crowded."""
    return CrowdingRules(round(settings.wait * 1000), settings.superseded)


def planning(settings: PlannerSettings) -> PlannerOptions:
    """How watches wait for quiet, and how often they look at everything."""
    debounce, max_wait = round(settings.debounce * 1000), round(settings.max_wait * 1000)
    return PlannerOptions(settings.reconcile, debounce, max_wait, settings.watcher)
