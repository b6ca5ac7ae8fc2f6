"""Every contestant in turn, round after round, and the tables."""

from __future__ import annotations

import os
import sys

from msgspec import Struct
from msgspec.structs import replace

from bench.peers.environments import Unavailable
from bench.peers.marks import BATCH, PICKUPS, SINGLES
from bench.peers.roster import HOLDFAST, HOLDFAST_ON_POSTGRES, PEERS, Entry
from bench.peers.running import Figures, run
from bench.table import Place, Table, p, per_second

ROUNDS = 2
COMPARED = ("of Holdfast", "of fastest durable peer")
RATES = ("contestant", "survives a power cut", "jobs", "drain", *COMPARED, "mixed", *COMPARED)
LATENCIES = ("contestant", "enqueue p50", "p95", "pickup p50", "p95", "p95 of Holdfast's")


class Outcome(Struct):
    """The best rates and all latencies of a contestant, or why it has none."""

    entry: Entry
    rounds: list[Figures] = []
    trouble: str = ""

    def rate(self, what: str) -> float:
        """Jobs a second in the best round; 0 without one."""
        return max((self.entry.jobs / getattr(figures, what) for figures in self.rounds), default=0.0)

    def latencies(self, what: str) -> list[float]:
        """Of all rounds together."""
        return [seconds for figures in self.rounds for seconds in getattr(figures, what)]


def measure(place: Place) -> Table:
    """Holdfast and every peer, alternating; a contestant that cannot take part is named with the reason."""
    load = os.getloadavg()[0]
    outcomes = [Outcome(entry) for entry in (HOLDFAST, HOLDFAST_ON_POSTGRES, *PEERS)]
    for _ in range(ROUNDS):
        for outcome in outcomes:
            _run(outcome, place)
    outcomes.append(_fastest_on_synced_redis(outcomes, place))
    return report(outcomes, load)


def _run(outcome: Outcome, place: Place) -> None:
    if outcome.trouble:
        return
    print(f"  {outcome.entry.name} …", file=sys.stderr, flush=True)
    try:
        outcome.rounds.append(run(outcome.entry, place))
    except Unavailable as error:
        outcome.trouble = str(error)


def _fastest_on_synced_redis(outcomes: list[Outcome], place: Place) -> Outcome:
    """What durability costs on Redis, shown by the peer that can lose most."""
    fastest = max((one for one in outcomes if one.entry.store == "redis"), key=lambda one: one.rate("drain")).entry
    outcome = Outcome(
        replace(
            fastest,
            name=f"{fastest.name}, synced",
            store="synced redis",
            settings="the same, with `appendonly yes` and `appendfsync always`",
            survives="every job",
            is_durable=True,
        )
    )
    for _ in range(ROUNDS):
        _run(outcome, place)
    return outcome


def report(outcomes: list[Outcome], load: float) -> Table:
    """Two tables, and how everybody was set up."""
    latencies = Table("", "", [_latency_row(one, outcomes[0]) for one in outcomes if one.rounds], LATENCIES)
    rates = [_rate_row(one, outcomes) for one in outcomes]
    missing = [f"{one.entry.name} was not measured: {one.trouble}\n\n" for one in outcomes if one.trouble]
    settings = [f"- {one.entry.name}: {one.entry.settings}." for one in outcomes]
    return Table(
        "Beside its peers",
        f"No-op jobs, one worker process, servers on this machine with their default settings; best of {ROUNDS} "
        f"alternating rounds; what else ran on the machine made a load of {load:.1f} at the start. Drain: a "
        "backlog that waits when the worker starts. Mixed: another process enqueues, "
        f"{BATCH} in a call where there is such a call, while the worker runs. Both count until the last job is done "
        "and, where the store records that, recorded. Slower contestants get fewer jobs. Targets for Holdfast on "
        "SQLite: drain and mixed ≥ 2 × the fastest durable peer, drain ahead of everybody.",
        rates,
        RATES,
        "".join(missing)
        + f"One caller: {SINGLES * ROUNDS} single enqueues one after the other, without a worker; then pickup, from "
        f"the call of enqueue to the first line of the job, {PICKUPS * ROUNDS} times on an idle system. Targets for "
        "Holdfast: p95 ≤ 2 ms and ≤ 3 ms.\n\n" + latencies.lines() + "\n\nSettings:\n\n" + "\n".join(settings) + "\n",
    )


def _rate_row(one: Outcome, outcomes: list[Outcome]) -> tuple[str, ...]:
    entry = one.entry
    if not one.rounds:
        return (entry.name, entry.survives, f"{entry.jobs:,}", *["not measured", "", ""] * 2)
    cells = []
    for what in ("drain", "mixed"):
        durable = max(peer.rate(what) for peer in outcomes if peer.entry.is_durable and peer.entry.environment)
        cells += [
            per_second(entry.jobs, entry.jobs / one.rate(what)),
            _ratio(one.rate(what), outcomes[0].rate(what)),
            _ratio(one.rate(what), durable),
        ]
    return (entry.name, entry.survives, f"{entry.jobs:,}", *cells)


def _latency_row(one: Outcome, holdfast: Outcome) -> tuple[str, ...]:
    enqueues, pickups = one.latencies("enqueues"), one.latencies("pickups")
    cells = [f"{p(seconds, nth) * 1000:.2f} ms" for seconds in (enqueues, pickups) for nth in (50, 95)]
    ours = p(holdfast.latencies("pickups"), 95) if holdfast.rounds else 0.0
    return (one.entry.name, *cells, _ratio(p(pickups, 95), ours))


def _ratio(value: float, base: float) -> str:
    return f"{value / base:.2f} ×" if base else ""
