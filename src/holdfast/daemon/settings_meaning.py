"""What the settings of a daemon mean to its parts."""

from __future__ import annotations

from holdfast.core.crowding import CrowdingRules
from holdfast.core.machine import Rules
from holdfast.core.measures import Thresholds
from holdfast.core.tokens import Tokens
from holdfast.daemon.settings import MachineSettings, PlannerSettings, PressureSettings, TokenSettings
from holdfast.runtime.node import own_tokens
from holdfast.runtime.probe import Probing
from holdfast.runtime.watched import PlannerOptions
from holdfast.store.scripts.tokens import TokenSetting
from holdfast.wire.places import Place, app_words


def places(apps: tuple[str, ...], workers: int) -> list[Place]:
    """One worker for commands and the system's own jobs, and as many as were asked for with the user's code."""
    with_code = [Place(f"app-{number}", app_words(apps)) for number in range(1, workers + 1)] if apps else []
    return [Place("system", ("--system",)), *with_code]


def probing(settings: MachineSettings, pressure: PressureSettings) -> Probing:
    """How the machine is looked at, and from where on it counts as pressed."""
    rules = Rules(round(settings.idle_after * 1000), settings.idle_load)
    thresholds = Thresholds(
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
    return Probing(rules=rules, thresholds=thresholds, every=settings.probe_every, is_eager=True)


def tokens(settings: TokenSettings) -> TokenSetting:
    """What the settings say of this machine; what they leave out is what it looks like."""
    own = own_tokens()
    said = {"cpu": settings.cpu, "gpu": settings.gpu, "io": settings.io}
    has = Tokens(**{kind: getattr(own, kind) if count is None else count for kind, count in said.items()})
    is_default = settings == TokenSettings()
    return TokenSetting(tokens=has, timeout_ms=round(settings.timeout * 1000), is_default=is_default)


def crowding(settings: PressureSettings) -> CrowdingRules:
    """From where on a queue counts as crowded."""
    return CrowdingRules(round(settings.wait * 1000), settings.superseded)


def planning(settings: PlannerSettings) -> PlannerOptions:
    """How watches wait for quiet, and how often they look at everything."""
    debounce, max_wait = round(settings.debounce * 1000), round(settings.max_wait * 1000)
    return PlannerOptions(settings.reconcile, debounce, max_wait, settings.watcher)
