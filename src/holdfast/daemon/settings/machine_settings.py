"""What can be set for the machine of a daemon: when it is idle or under pressure, and which tokens it has."""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct

from holdfast.core.machine.readings import WAL
from holdfast.core.rules.number_rules import Size
from holdfast.core.rules.tokens import USUAL_GPU, USUAL_IO, USUAL_TIMEOUT_MS
from holdfast.daemon.settings import kinds
from holdfast.daemon.settings.kinds import Says

LONGEST_WAIT_S = 365 * 86_400.0
_MOMENTS = kinds.duration(0, 3_600)


class MachineSettings(Struct, frozen=True, kw_only=True):
    """When this machine counts as idle, for jobs that wait for that."""

    idle_after: Annotated[
        float,
        Says(
            "How long nobody may have used it: no input, or, where nothing tells of input, a low load.",
            kinds.duration(1, 86_400),
        ),
    ] = 300.0
    idle_load: Annotated[
        float,
        Says("Where nothing tells of input: the share of its processors from which on it is not idle.", kinds.share()),
    ] = 0.3
    probe_every: Annotated[float, Says("How often to look at it.", kinds.duration(1, 60))] = 10.0


class PressureSettings(Struct, frozen=True, kw_only=True):
    """From when on this machine needs rest: heavy queues wait, workers pull less often, or new jobs are refused.

    Shares are numbers such as 0.8, or texts such as "80%"; 0 turns a threshold off. `HOLDFAST_PRESSURE=off` in the
    environment of the daemon turns all of them off.
    """

    cpu: Annotated[float, Says("The share of the processors in use over 10 seconds.", kinds.limit_share())] = 0.8
    cpu_others: Annotated[
        float,
        Says(
            "How much of them programs must use that Holdfast did not start; less does not count.", kinds.limit_share()
        ),
    ] = 0.2
    gpu: Annotated[
        float,
        Says("The share of the busiest GPU in use; `nvidia-smi` tells it.", kinds.limit_share()),
    ] = 0.8
    memory: Annotated[
        float, Says("The share of the memory that is still free.", kinds.limit_share(is_whole_allowed=False))
    ] = 0.1
    battery: Annotated[
        int, Says("On battery: the charge in percent below which heavy queues wait.", kinds.whole(0, 100))
    ] = 30
    battery_critical: Annotated[
        int, Says("On battery: the charge in percent below which all but light queues wait.", kinds.whole(0, 100))
    ] = 10
    heat: Annotated[
        int, Says("The heat of the processors in °C; also whether they slow down because of it.", kinds.whole(0, 150))
    ] = 90
    wal: Annotated[
        int,
        Says(
            "SQLite only: the size of the write-ahead log above which new jobs are refused.",
            kinds.limit_size(WAL),
        ),
    ] = 256 << 20
    disk: Annotated[
        float,
        Says(
            "The share of the disk that is free below which new jobs are refused.",
            kinds.limit_share(is_whole_allowed=False),
        ),
    ] = 0.05
    disk_bytes: Annotated[
        int,
        Says(
            "The same in bytes; the one that is reached first counts.",
            kinds.limit_size(Size(1 << 20, 1 << 50, may_be_none=True)),
        ),
    ] = 1 << 30
    pull_interval: Annotated[
        float, Says("How often each worker takes jobs while the processors or the GPU are busy.", _MOMENTS)
    ] = 0.1
    enter_after: Annotated[
        float, Says("How long memory, heat or GPU must be beyond the threshold before it counts.", _MOMENTS)
    ] = 10.0
    leave_after: Annotated[
        float, Says("How long it must be better before it counts no more. Refusals end at once.", _MOMENTS)
    ] = 30.0
    wait: Annotated[
        float,
        Says(
            "How long the next job of a queue may have been ready before that is told.",
            kinds.duration(0, LONGEST_WAIT_S),
        ),
    ] = 300.0
    superseded: Annotated[
        float,
        Says(
            "The share of the jobs of a queue that may be superseded before they end; above it, watches that fill this "
            "queue wait four times as long for quiet.",
            kinds.limit_share(),
        ),
    ] = 0.5
    unplugged: Annotated[float, Says("How long heavy queues wait after the power was unplugged.", _MOMENTS)] = 60.0


class TokenSettings(Struct, frozen=True, kw_only=True):
    """What this machine has for jobs that take tokens of it, and how long one of them lets smaller ones pass."""

    cpu: Annotated[
        int | None,
        Says("How many cores they may use. By default all but one.", kinds.by_rule("cpu"), "4"),
    ] = None
    gpu: Annotated[
        int | None,
        Says(f"How many graphics cards they may use. By default {USUAL_GPU}.", kinds.by_rule("gpu"), str(USUAL_GPU)),
    ] = None
    io: Annotated[
        int | None,
        Says(
            f"How many tokens there are for heavy input and output. By default {USUAL_IO}.",
            kinds.by_rule("io"),
            str(USUAL_IO),
        ),
    ] = None
    timeout: Annotated[
        float,
        Says(
            "How long a job that does not fit lets smaller ones pass; then room is kept for it.",
            kinds.by_rule("set_tokens.timeout_ms"),
        ),
    ] = USUAL_TIMEOUT_MS / 1000
