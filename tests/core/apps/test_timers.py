"""When a timer of an app fires, whatever the clocks do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, time, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from holdfast.core.apps.timers import (
    LATE_MS,
    LONGEST_WAIT_MS,
    MOST_RUNS,
    ByHand,
    Every,
    FiredRun,
    IfExists,
    KeptTimer,
    Moments,
    OnceAfter,
    OnceAt,
    OnCron,
    TimerTrigger,
    after,
    at,
    begin,
    daily,
    due,
    every,
    if_exists_of,
    is_finished,
    name_of,
    next_run_at,
    on_cron,
    on_taken_name,
    wait_ms,
)
from holdfast.core.errors import InvalidInput
from holdfast.core.job import Millis

SECOND, MINUTE, HOUR, DAY = 1_000, 60_000, 3_600_000, 86_400_000
NOON = 1_893_499_200_000  # of 2030-01-01, in UTC
BOOTED = 5_000_000


def moment(text: str, tz: str = "UTC") -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(tz))


def millis(text: str, tz: str = "UTC") -> Millis:
    return round(moment(text, tz).timestamp() * 1000)


class Held:
    """A timer, and the two clocks of the machine that holds it."""

    def __init__(self, trigger: TimerTrigger, wall: Millis = NOON) -> None:
        self.trigger = trigger
        self.now = Moments(wall, BOOTED)
        self.began = self.now
        self.state = begin(trigger, self.now)

    def ask(self) -> Millis | None:
        self.state, fired = due(self.state, self.trigger, self.now)
        return fired

    def block(self, by: Millis) -> None:
        """Time passes, and nobody asks."""
        self.now = Moments(self.now.wall + by, self.now.monotonic + by)

    def set_clock(self, by: Millis) -> None:
        """The wall clock is set. To sleep looks the same: the monotonic clock stands still meanwhile."""
        self.now = Moments(self.now.wall + by, self.now.monotonic)

    def wait(self) -> Millis | None:
        return wait_ms(self.state, self.trigger, self.now)

    def next(self) -> Millis | None:
        return next_run_at(self.state, self.trigger, self.now)

    def pass_time(self, by: Millis) -> list[Millis]:
        """Time passes, and the holder waits and asks as it should. What fires until then."""
        found: list[Millis] = []
        left = by
        while True:
            fired = self.ask()
            if fired is not None:
                found.append(fired)
                continue
            waits = self.wait()
            step = left if waits is None else min(max(waits, 1), left)
            if not left:
                return found
            self.block(step)
            left -= step


def test_a_delay_fires_once_when_it_has_passed() -> None:
    held = Held(after("5m"))
    assert held.pass_time(5 * MINUTE - 1) == []
    assert held.pass_time(HOUR) == [NOON + 5 * MINUTE]
    assert is_finished(held.state, held.trigger)
    assert (held.wait(), held.next()) == (None, None)


def test_without_a_delay_it_fires_at_once() -> None:
    assert Held(after(0)).ask() == NOON


@pytest.mark.parametrize("step", [-DAY, DAY])
def test_a_wall_clock_that_is_set_does_not_move_a_delay(step: Millis) -> None:
    held = Held(after("5m"))
    held.set_clock(step)
    assert held.next() == NOON + step + 5 * MINUTE
    assert held.pass_time(5 * MINUTE) == [NOON + step + 5 * MINUTE]


def test_a_moment_fires_once_when_the_wall_clock_shows_it() -> None:
    held = Held(at(moment("2030-01-01T12:30")))
    assert held.pass_time(DAY) == [NOON + 30 * MINUTE]
    held.set_clock(-2 * DAY)
    assert held.pass_time(3 * DAY) == []


def test_a_moment_comes_later_if_the_clock_is_set_back() -> None:
    held = Held(at(moment("2030-01-01T12:30")))
    held.set_clock(-HOUR)
    assert held.pass_time(90 * MINUTE - 1) == []
    assert held.pass_time(1) == [NOON + 30 * MINUTE]


def test_a_moment_is_never_missed() -> None:
    held = Held(at(moment("2030-01-01T12:30")))
    held.set_clock(DAY)
    assert held.ask() == NOON + 30 * MINUTE
    assert Held(at(moment("2029-12-31T12:00"))).ask() == NOON - DAY


def test_a_moment_needs_a_zone() -> None:
    with pytest.raises(
        InvalidInput, match=r"^moment datetime.datetime\(2030, .* as a datetime with a time zone such as"
    ):
        at(datetime(2030, 1, 1))


def test_a_period_comes_again_and_again() -> None:
    held = Held(every("20m"))
    assert held.pass_time(HOUR) == [NOON + 20 * MINUTE, NOON + 40 * MINUTE, NOON + HOUR]
    assert held.next() == NOON + 80 * MINUTE


@pytest.mark.parametrize("step", [-DAY, DAY])
def test_a_wall_clock_that_is_set_does_not_move_a_period(step: Millis) -> None:
    held = Held(every("20m"))
    held.pass_time(30 * MINUTE)
    held.set_clock(step)
    assert held.pass_time(10 * MINUTE) == [NOON + step + 40 * MINUTE]


def test_turns_that_are_fired_late_do_not_drift() -> None:
    held = Held(every(10))
    fired = []
    for _ in range(3):
        held.block(13 * SECOND)
        fired.append(held.ask())
    assert fired == [NOON + 10 * SECOND, NOON + 20 * SECOND, NOON + 30 * SECOND]


def test_a_turn_that_is_a_minute_late_fires_and_an_older_one_is_missed() -> None:
    held = Held(every("1h"))
    held.block(HOUR + LATE_MS)
    assert held.ask() == NOON + HOUR
    held.block(HOUR + 1)
    assert held.ask() is None
    assert held.next() == NOON + 3 * HOUR


def test_of_several_turns_that_are_due_the_newest_fires_alone() -> None:
    held = Held(every(1))
    held.block(10_500)
    assert [held.ask(), held.ask()] == [NOON + 10 * SECOND, None]


def test_a_period_starts_after_a_delay_of_its_own() -> None:
    assert Held(every("1h", start=0)).pass_time(HOUR) == [NOON, NOON + HOUR]
    assert Held(every("1h", start="5m")).pass_time(2 * HOUR) == [NOON + 5 * MINUTE, NOON + 65 * MINUTE]


def test_a_period_starts_at_a_moment_of_the_wall_clock() -> None:
    held = Held(every("1h", start=moment("2030-01-01T12:10")))
    assert held.ask() is None
    held.set_clock(-5 * MINUTE)
    assert held.pass_time(15 * MINUTE) == [NOON + 10 * MINUTE]
    held.set_clock(-5 * MINUTE)
    assert held.pass_time(HOUR) == [NOON + 65 * MINUTE]


def test_a_start_that_is_missed_still_says_when_the_others_come() -> None:
    held = Held(every("1h", start=moment("2030-01-01T12:10")))
    held.set_clock(30 * MINUTE)
    assert held.ask() is None
    held.set_clock(-30 * MINUTE)
    assert held.pass_time(HOUR) == [NOON + 40 * MINUTE]


def test_of_a_start_that_has_passed_only_the_turns_to_come_fire() -> None:
    held = Held(every("1h", start=moment("2029-12-31T08:10")))
    assert held.pass_time(2 * HOUR) == [NOON + 10 * MINUTE, NOON + 70 * MINUTE]
    assert Held(every("1h", start=moment("2030-01-01T11:59:59"))).ask() is None


def test_a_cron_expression_fires_at_each_of_its_ticks() -> None:
    assert Held(on_cron("*/20 * * * *")).pass_time(HOUR) == [NOON + 20 * MINUTE, NOON + 40 * MINUTE, NOON + HOUR]


def test_a_tick_at_the_very_beginning_has_passed() -> None:
    assert Held(on_cron("0 12 * * *")).next() == NOON + DAY


def test_a_tick_that_is_a_minute_late_fires_once_and_an_older_one_is_missed() -> None:
    held = Held(on_cron("0 * * * *"))
    held.block(HOUR + LATE_MS)
    assert [held.ask(), held.ask()] == [NOON + HOUR, None]
    held.block(HOUR + 1)
    assert held.ask() is None
    assert held.next() == NOON + 3 * HOUR


def test_a_machine_that_was_asleep_fires_no_tick_of_that_time() -> None:
    held = Held(on_cron("0 * * * *"))
    held.set_clock(10 * HOUR + 5 * MINUTE)
    assert held.pass_time(HOUR) == [NOON + 11 * HOUR]


def test_of_several_ticks_that_are_due_the_newest_fires_alone() -> None:
    held = Held(on_cron("* * * * * *"))
    held.block(10_500)
    assert [held.ask(), held.ask()] == [NOON + 10 * SECOND, None]


def test_a_tick_does_not_fire_again_when_the_clock_is_set_back() -> None:
    held = Held(on_cron("0 * * * *"))
    held.pass_time(2 * HOUR)
    held.set_clock(-2 * HOUR)
    assert held.next() == NOON + 3 * HOUR
    assert held.pass_time(3 * HOUR) == [NOON + 3 * HOUR]


def test_after_the_clock_was_set_back_an_earlier_tick_comes_next() -> None:
    held = Held(on_cron("0 * * * *"))
    held.set_clock(-90 * MINUTE)
    assert held.next() == NOON - HOUR
    assert held.pass_time(HOUR) == [NOON - HOUR]


def test_what_a_wrong_clock_left_out_still_fires() -> None:
    held = Held(on_cron("0 * * * *"))
    held.set_clock(10 * DAY + 5 * MINUTE)
    assert held.pass_time(HOUR) == [NOON + 10 * DAY + HOUR]
    held.set_clock(-10 * DAY)
    assert held.pass_time(2 * HOUR) == [NOON + 2 * HOUR, NOON + 3 * HOUR]


def test_the_newest_tick_that_has_not_fired_is_found_behind_those_that_have() -> None:
    held = Held(on_cron("* * * * * */10"))
    held.set_clock(20 * SECOND)
    assert held.ask() == NOON + 20 * SECOND
    held.set_clock(-19 * SECOND)
    assert held.ask() is None
    held.set_clock(20 * SECOND)
    assert held.ask() == NOON + 10 * SECOND


def test_ticks_that_follow_each_other_are_remembered_as_one_run() -> None:
    held = Held(on_cron("* * * * *"))
    held.pass_time(HOUR)
    assert held.state.fired == (FiredRun(NOON + MINUTE, NOON + HOUR),)


def test_a_gap_that_is_filled_later_joins_two_runs() -> None:
    held = Held(on_cron("0 * * * *"))
    held.pass_time(HOUR)
    held.set_clock(HOUR + 5 * MINUTE)
    held.pass_time(HOUR)
    assert list(held.state.fired) == [FiredRun(NOON + hours * HOUR, NOON + hours * HOUR) for hours in (1, 3)]
    held.set_clock(-90 * MINUTE)
    assert held.pass_time(HOUR) == [NOON + 2 * HOUR]
    assert list(held.state.fired) == [FiredRun(NOON + HOUR, NOON + 3 * HOUR)]


def test_however_many_ticks_are_missed_little_is_remembered() -> None:
    held = Held(on_cron("0 * * * *"))
    fired: list[Millis] = []
    for hours in range(1, 40):
        fired += held.pass_time(HOUR)
        held.set_clock(hours * HOUR)
    assert len(held.state.fired) == MOST_RUNS
    held.set_clock(NOON - held.now.wall)
    assert not set(held.pass_time(2 * DAY)) & set(fired)


def test_where_the_clocks_are_set_forward_a_daily_time_fires_at_the_change() -> None:
    held = Held(daily("2:30", "Europe/Berlin"), millis("2030-03-30T12:00", "Europe/Berlin"))
    assert held.pass_time(2 * DAY) == [millis("2030-03-31T01:00"), millis("2030-04-01T02:30", "Europe/Berlin")]


def test_where_the_clocks_are_set_back_a_daily_time_fires_once() -> None:
    held = Held(daily("2:30", "Europe/Berlin"), millis("2030-10-26T12:00", "Europe/Berlin"))
    assert held.pass_time(2 * DAY) == [millis("2030-10-27T00:30"), millis("2030-10-28T01:30")]


def test_a_daily_time_stays_the_same_through_the_year() -> None:
    held = Held(daily("7:00", "Europe/Berlin"), millis("2030-03-30T12:00", "Europe/Berlin"))
    assert held.pass_time(DAY) == [millis("2030-03-31T05:00")]


@pytest.mark.parametrize(
    ("written", "expression"),
    [
        ("7:00", "0 7 * * *"),
        ("07:00:30", "0 7 * * * 30"),
        ("23:59", "59 23 * * *"),
        (time(7, 5), "5 7 * * *"),
        (time(7, 5, 9), "5 7 * * * 9"),
    ],
)
def test_a_time_of_day_becomes_a_cron_expression(written: time | str, expression: str) -> None:
    assert daily(written, "Europe/Berlin") == OnCron(expression, "Europe/Berlin")


@pytest.mark.parametrize(
    "written", ["", "7", "24:00", "7:60", "7:00:60", "7:0", "7:00 am", " 7:00", "\u0667:00", 7, None]
)
def test_what_is_no_time_of_day_is_refused(written: str) -> None:
    with pytest.raises(
        InvalidInput, match=r'^time .* is not valid: use a time of day in whole seconds, such as "7:00"'
    ):
        daily(written)


def test_a_time_of_day_has_whole_seconds_and_no_zone() -> None:
    with pytest.raises(InvalidInput, match="whole seconds"):
        daily(time(7, 0, 0, 1))
    with pytest.raises(InvalidInput, match=r"a time without a zone, and tz= beside it"):
        daily(time(7, tzinfo=UTC))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: after(-1), "delay -1 is not valid: use 0 s to 100 years"),
        (lambda: after("soon"), "delay 'soon' is not valid: use 0 s to 100 years"),
        (lambda: after(float("nan")), "delay nan is not valid"),
        (lambda: every(0), "period 0 is not valid: use 1 ms to 100 years"),
        (
            lambda: every(1, start="soon"),
            "start 'soon' is not valid: use a datetime with a time zone, or a delay of 0 s",
        ),
        (lambda: every(1, start=datetime(2030, 1, 1)), "start datetime.datetime(2030, 1, 1, 0, 0) is not valid"),
        (lambda: on_cron("61 * * * *"), "cron expression '61 * * * *' is not valid: its minute does not fit"),
        (lambda: on_cron("* * * * *", "Berlin"), "there is no time zone 'Berlin'"),
        (lambda: on_cron([]), "cron expression [] is not valid"),  # type: ignore[arg-type]
        (lambda: daily("7:00", UTC), "tz datetime.timezone.utc is not valid"),  # type: ignore[arg-type]
        (lambda: if_exists_of("keep"), "if_exists 'keep' is not valid: use one of 'error', 'skip', 'replace'"),
        (lambda: name_of(ByHand(), "a b", "run"), "name 'a b' is not valid"),
    ],
)
def test_what_does_not_fit_is_refused_with_the_value_and_a_remedy(make: Callable[[], object], words: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        make()
    assert str(refused.value).startswith(words)


@pytest.mark.parametrize(
    ("trigger", "kind", "value", "repeats"),
    [
        (after(timedelta(minutes=5)), "after", "5m", False),
        (at(datetime(2030, 1, 1, 8, tzinfo=timezone(timedelta(hours=1)))), "at", "2030-01-01T07:00:00.000Z", False),
        (every(0.5), "interval", "500ms", True),
        (on_cron("@daily"), "cron", "@daily", True),
        (daily("7:00", "Europe/Berlin"), "cron", "0 7 * * * Europe/Berlin", True),
        (ByHand(), None, "", False),
    ],
)
def test_the_record_says_what_a_timer_goes_by(
    trigger: TimerTrigger, kind: str | None, value: str, repeats: bool
) -> None:
    assert (trigger.trigger_type, trigger.trigger_value, trigger.repeat) == (kind, value, repeats)


def test_by_hand_nothing_is_ever_due_nor_finished() -> None:
    held = Held(ByHand())
    held.block(DAY)
    assert (held.ask(), held.wait(), held.next(), is_finished(held.state, held.trigger)) == (None, None, None, False)


@pytest.mark.parametrize("trigger", [after(DAY), at(moment("2031-01-01")), every("30d"), on_cron("0 0 1 1 *")])
def test_no_wait_is_longer_than_a_minute(trigger: TimerTrigger) -> None:
    assert Held(trigger).wait() == LONGEST_WAIT_MS


@pytest.mark.parametrize("trigger", [after(5), at(moment("2030-01-01T12:00:05")), every(5), on_cron("* * * * * 5")])
def test_a_wait_ends_when_the_timer_is_due(trigger: TimerTrigger) -> None:
    held = Held(trigger)
    assert held.wait() == 5 * SECOND
    held.block(7 * SECOND)
    assert held.wait() == 0


def test_a_taken_name_is_an_error_unless_one_of_the_two_is_to_go() -> None:
    with pytest.raises(InvalidInput, match=r"^there is a timer 'night' in this app already: give another name=, or"):
        on_taken_name("night", if_exists_of("error"))
    assert on_taken_name("night", IfExists.SKIP) is KeptTimer.OLD
    assert on_taken_name("night", IfExists.REPLACE) is KeptTimer.NEW


def test_only_one_shots_have_no_name_by_themselves() -> None:
    assert [name_of(trigger, None, "tidy") for trigger in (after(1), at(moment("2030-01-01")))] == [None, None]
    assert [name_of(trigger, None, "tidy") for trigger in (every(1), daily("7:00"), ByHand())] == ["tidy"] * 3
    assert name_of(after(1), "night", "tidy") == "night"


# What happens to a machine: time passes while the holder asks as it should, time passes while it is blocked, or the
# wall clock is set.
HAPPENINGS = st.lists(
    st.tuples(
        st.sampled_from([Held.pass_time, Held.block, Held.set_clock]),
        st.one_of(st.integers(0, 3 * MINUTE), st.integers(0, 3 * HOUR)),
        st.booleans(),
    ),
    max_size=12,
)
Happenings = list[tuple[Callable[[Held, Millis], list[Millis] | None], Millis, bool]]


def live(held: Held, happenings: Happenings) -> list[tuple[Moments, Millis]]:
    """What fires, and when that was seen at the latest."""
    found: list[tuple[Moments, Millis]] = []
    for happen, by, is_back in happenings:
        fired = happen(held, -by if is_back and happen is Held.set_clock else by) or []
        found += [(held.now, tick) for tick in fired]
        while (tick := held.ask()) is not None:
            found.append((held.now, tick))
    return found


@given(
    HAPPENINGS,
    st.sampled_from(["* * * * *", "*/7 * * * *", "0 * * * *", "30 2 * * *", "* * * * * */20"]),
    st.sampled_from([NOON, millis("2030-03-31T00:30"), millis("2030-10-27T00:10")]),
)
def test_no_tick_fires_twice_whatever_the_clocks_do(happenings: Happenings, cron: str, start: Millis) -> None:
    trigger = on_cron(cron, "Europe/Berlin")
    fired = Counter(tick for _, tick in live(Held(trigger, start), happenings))
    assert all(count == 1 and trigger.cron.previous_or_at(tick) == tick for tick, count in fired.items())


@given(HAPPENINGS, st.integers(SECOND, 2 * HOUR), st.none() | st.integers(0, HOUR))
def test_turns_stay_whole_periods_apart_whatever_the_clocks_do(
    happenings: Happenings, period: Millis, first: Millis | None
) -> None:
    held = Held(Every(period, period if first is None else first))
    wanted = BOOTED + (period if first is None else first)
    turns = [now.monotonic - now.wall + tick for now, tick in live(held, happenings)]
    assert all(turn >= wanted and (turn - wanted) % period == 0 for turn in turns)
    assert len(turns) == len(set(turns))


@given(HAPPENINGS, st.integers(0, HOUR))
def test_no_turn_is_left_out_while_the_holder_asks_whatever_the_wall_clock_does(
    happenings: Happenings, period: Millis
) -> None:
    held = Held(every((period + SECOND) / 1000))
    asked = [(happen, by, back) for happen, by, back in happenings if happen is not Held.block]
    assert len(live(held, asked)) == (held.now.monotonic - BOOTED) // (period + SECOND)


@given(HAPPENINGS, st.integers(0, 6 * HOUR))
def test_a_delay_fires_exactly_once_and_not_too_early(happenings: Happenings, delay: Millis) -> None:
    held = Held(OnceAfter(delay))
    fired = live(held, happenings)
    early = [now for now, _ in fired if now.monotonic < BOOTED + delay]
    assert (len(fired + [(held.now, tick) for tick in held.pass_time(delay)]), early) == (1, [])


@given(HAPPENINGS, st.integers(-HOUR, 6 * HOUR))
def test_a_moment_fires_exactly_once_and_as_itself(happenings: Happenings, ahead: Millis) -> None:
    held = Held(OnceAt(NOON + ahead))
    fired = [tick for _, tick in live(held, happenings)]
    rest = max(0, NOON + ahead - held.now.wall)
    assert fired + held.pass_time(rest) == [NOON + ahead]


@given(HAPPENINGS, st.integers(0, 8 * DAY))
def test_a_tick_that_has_not_fired_fires_when_its_time_is_lived_through(happenings: Happenings, back: Millis) -> None:
    trigger = on_cron("*/15 * * * *")
    held = Held(trigger)
    fired = {tick for _, tick in live(held, happenings)}
    held.set_clock(-back)
    held.ask()
    began = held.now.wall
    # With more runs of fired ticks, some of the ticks between them are given up.
    assume(len(held.state.fired) < MOST_RUNS - 8)
    assert set(held.pass_time(2 * HOUR)) == set(trigger.cron.upcoming(began, 8)) - fired
