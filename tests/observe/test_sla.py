"""Promised latencies: when one counts as broken, and when a person hears of it."""

from hypothesis import given
from hypothesis import strategies as st

from holdfast.observe.sla import MOST_SAMPLES, Measure, Promise, PromiseVerdict, Sla, figure

ENQUEUE = Promise("enqueue", 10.0)
TO_RUN = Promise("queue_to_run", 200.0, Measure.MEAN, fewest=3)


def fed(sla: Sla, name: str, values: list[float], now: float) -> list[PromiseVerdict]:
    """What is judged after these samples of the same moment."""
    for value in values:
        sla.sample(name, value, now)
    return sla.judge(now)


def test_the_95th_percentile_lets_one_in_twenty_be_slow() -> None:
    assert not fed(Sla([ENQUEUE]), "enqueue", [1.0] * 19 + [500.0], 0)[0].is_broken
    assert fed(Sla([ENQUEUE]), "enqueue", [1.0] * 18 + [500.0] * 2, 0)[0].is_broken


def test_the_average_counts_everything() -> None:
    assert not fed(Sla([TO_RUN]), "queue_to_run", [0.0] * 10 + [400.0] * 10, 0)[0].is_broken
    assert fed(Sla([TO_RUN]), "queue_to_run", [0.0] * 10 + [401.0] * 10, 0)[0].is_broken


def test_the_limit_itself_is_allowed() -> None:
    assert not fed(Sla([ENQUEUE]), "enqueue", [10.0] * 20, 0)[0].is_broken


def test_a_handful_of_samples_proves_nothing() -> None:
    assert fed(Sla([ENQUEUE]), "enqueue", [500.0] * 19, 0) == []
    assert fed(Sla([TO_RUN]), "queue_to_run", [500.0] * 2, 0) == []


def test_what_is_older_than_the_window_does_not_count() -> None:
    sla = Sla([ENQUEUE], window=60)
    fed(sla, "enqueue", [500.0] * 100, 0)
    verdict = fed(sla, "enqueue", [1.0] * 20, 60)[0]
    assert (verdict.samples, verdict.is_broken) == (20, False)


def test_a_flood_of_samples_keeps_the_latest() -> None:
    sla = Sla([ENQUEUE])
    fed(sla, "enqueue", [500.0] * MOST_SAMPLES, 0)
    verdict = fed(sla, "enqueue", [1.0] * MOST_SAMPLES, 1)[0]
    assert (verdict.samples, verdict.is_broken) == (MOST_SAMPLES, False)


def test_a_breach_is_said_once_and_again_only_after_a_while() -> None:
    sla = Sla([ENQUEUE], say_again=300)
    said = [moment for moment in range(0, 601, 10) if fed(sla, "enqueue", [500.0] * 20, moment)[0].say]
    assert said == [0, 300, 600]


def test_that_it_is_over_is_said_once() -> None:
    sla = Sla([ENQUEUE], window=60)
    fed(sla, "enqueue", [500.0] * 20, 0)
    over = [fed(sla, "enqueue", [1.0] * 20, moment)[0] for moment in (60, 70)]
    assert [(verdict.is_broken, verdict.say) for verdict in over] == [(False, True), (False, False)]


def test_a_breach_after_silence_is_news() -> None:
    sla = Sla([ENQUEUE], window=60, say_again=300)
    fed(sla, "enqueue", [500.0] * 20, 0)
    assert sla.judge(100) == []
    assert fed(sla, "enqueue", [500.0] * 20, 120)[0].say


def test_what_nothing_is_promised_about_is_ignored() -> None:
    assert fed(Sla([ENQUEUE]), "bulk", [500.0] * 20, 0) == []


@given(st.lists(st.floats(0, 1e6), min_size=1))
def test_at_most_one_in_twenty_is_above_the_95th_percentile(values: list[float]) -> None:
    found = figure(Measure.P95, values)
    assert found in values
    assert sum(value > found for value in values) <= len(values) * 0.05
