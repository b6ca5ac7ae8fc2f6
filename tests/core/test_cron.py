"""Cron expressions: when they fire, through every change of the clocks, and what is refused."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.core.errors import InvalidInput
from holdfast.core.schedules.cron import NAMED, Cron, parse, parse_stored

# Three ticks of a daily time around a change: the day before, the day of it, the day after. Where the time is skipped,
# the second is the moment of the change itself; where it comes twice, the second is its first coming.
CHANGES = [
    # 02:00 +01 → 03:00 +02 on 31 March 2024; 03:00 +02 → 02:00 +01 on 27 October 2024
    ("Europe/Berlin", "30 2 * * *", "2024-03-30T01:30", "2024-03-31T01:00", "2024-04-01T00:30"),
    ("Europe/Berlin", "30 2 * * *", "2024-10-26T00:30", "2024-10-27T00:30", "2024-10-28T01:30"),
    # 01:00 +00 → 02:00 +01; 02:00 +01 → 01:00 +00
    ("Europe/London", "30 1 * * *", "2024-03-30T01:30", "2024-03-31T01:00", "2024-04-01T00:30"),
    ("Europe/London", "30 1 * * *", "2024-10-26T00:30", "2024-10-27T00:30", "2024-10-28T01:30"),
    # 02:00 -05 → 03:00 -04; 02:00 -04 → 01:00 -05
    ("America/New_York", "30 2 * * *", "2024-03-09T07:30", "2024-03-10T07:00", "2024-03-11T06:30"),
    ("America/New_York", "30 1 * * *", "2024-11-02T05:30", "2024-11-03T05:30", "2024-11-04T06:30"),
    # 02:00 -08 → 03:00 -07; 02:00 -07 → 01:00 -08
    ("America/Los_Angeles", "30 2 * * *", "2024-03-09T10:30", "2024-03-10T10:00", "2024-03-11T09:30"),
    ("America/Los_Angeles", "30 1 * * *", "2024-11-02T08:30", "2024-11-03T08:30", "2024-11-04T09:30"),
    # 02:00 +10 → 03:00 +11 on 6 October; 03:00 +11 → 02:00 +10 on 7 April
    ("Australia/Sydney", "30 2 * * *", "2024-10-04T16:30", "2024-10-05T16:00", "2024-10-06T15:30"),
    ("Australia/Sydney", "30 2 * * *", "2024-04-05T15:30", "2024-04-06T15:30", "2024-04-07T16:30"),
    # 02:00 +12 → 03:00 +13 on 29 September; 03:00 +13 → 02:00 +12 on 7 April
    ("Pacific/Auckland", "30 2 * * *", "2024-09-27T14:30", "2024-09-28T14:00", "2024-09-29T13:30"),
    ("Pacific/Auckland", "30 2 * * *", "2024-04-05T13:30", "2024-04-06T13:30", "2024-04-07T14:30"),
    # Half an hour: 02:00 +10:30 → 02:30 +11 on 6 October; 02:00 +11 → 01:30 +10:30 on 7 April
    ("Australia/Lord_Howe", "15 2 * * *", "2024-10-04T15:45", "2024-10-05T15:30", "2024-10-06T15:15"),
    ("Australia/Lord_Howe", "45 1 * * *", "2024-04-05T14:45", "2024-04-06T14:45", "2024-04-07T15:15"),
    # At midnight: 00:00 -04 → 01:00 -03 on 3 September; 24:00 -03 → 23:00 -04 on 1 April
    ("America/Santiago", "30 0 * * *", "2023-09-02T04:30", "2023-09-03T04:00", "2023-09-04T03:30"),
    ("America/Santiago", "30 23 * * *", "2023-04-01T02:30", "2023-04-02T02:30", "2023-04-03T03:30"),
    # 00:00 +02 → 01:00 +03 on 28 April; 24:00 +03 → 23:00 +02 on 26 October
    ("Africa/Cairo", "30 0 * * *", "2023-04-26T22:30", "2023-04-27T22:00", "2023-04-28T21:30"),
    ("Africa/Cairo", "30 23 * * *", "2023-10-25T20:30", "2023-10-26T20:30", "2023-10-27T21:30"),
    # 02:00 +02 → 03:00 +03 on 29 March; 02:00 +03 → 01:00 +02 on 27 October
    ("Asia/Jerusalem", "30 2 * * *", "2024-03-28T00:30", "2024-03-29T00:00", "2024-03-29T23:30"),
    ("Asia/Jerusalem", "30 1 * * *", "2024-10-25T22:30", "2024-10-26T22:30", "2024-10-27T23:30"),
    # 00:00 +03:30 → 01:00 +04:30 on 22 March; 24:00 +04:30 → 23:00 +03:30 on 21 September
    ("Asia/Tehran", "30 0 * * *", "2021-03-20T21:00", "2021-03-21T20:30", "2021-03-22T20:00"),
    ("Asia/Tehran", "30 23 * * *", "2021-09-20T19:00", "2021-09-21T19:00", "2021-09-22T20:00"),
    # Two hours: 01:00 +00 → 03:00 +02 on 31 March; 03:00 +02 → 01:00 +00 on 27 October
    ("Antarctica/Troll", "30 1 * * *", "2024-03-30T01:30", "2024-03-31T01:00", "2024-03-31T23:30"),
    ("Antarctica/Troll", "30 2 * * *", "2024-10-26T00:30", "2024-10-27T00:30", "2024-10-28T02:30"),
    # A whole day, 30 December 2011: 24:00 -10 on the 29th → 00:00 +14 on the 31st
    ("Pacific/Apia", "0 9 * * *", "2011-12-29T19:00", "2011-12-30T10:00", "2011-12-30T19:00"),
    # No change since 2019: always -03
    ("America/Sao_Paulo", "30 2 * * *", "2024-03-30T05:30", "2024-03-31T05:30", "2024-04-01T05:30"),
    ("America/Sao_Paulo", "30 2 * * *", "2024-10-26T05:30", "2024-10-27T05:30", "2024-10-28T05:30"),
]


def ms(text: str) -> int:
    return round(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1000)


def shown(ticks: list[int]) -> list[str]:
    return [datetime.fromtimestamp(tick / 1000, UTC).strftime("%Y-%m-%dT%H:%M") for tick in ticks]


def backwards(cron: Cron, last: int, count: int) -> list[int]:
    ticks: list[int] = []
    for _ in range(count):
        found = cron.previous_or_at(last)
        assert found is not None
        ticks.insert(0, found)
        last = found - 1
    return ticks


@pytest.mark.parametrize(("zone", "expression", "before", "change", "after"), CHANGES)
def test_a_daily_time_fires_once_a_day_through_both_changes(
    zone: str, expression: str, before: str, change: str, after: str
) -> None:
    expected = [before, change, after]
    for cron in (parse(expression, zone), parse(f"{expression} 0", zone)):
        assert shown(cron.upcoming(ms(before) - 1, 3)) == expected
        assert shown(backwards(cron, ms(after), 3)) == expected


@pytest.mark.parametrize(
    ("zone", "expression", "expected"),
    [
        # The hour that comes twice has two half hours, and the one that is skipped has none.
        ("Europe/Berlin", "30 * * * *", ["2024-10-26T23:30", "2024-10-27T00:30", "2024-10-27T01:30"]),
        ("Europe/Berlin", "30 * * * *", ["2024-03-31T00:30", "2024-03-31T01:30", "2024-03-31T02:30"]),
        # 02:00, then set back to 01:30: the wall clock shows 01:30 twice.
        ("Australia/Lord_Howe", "*/30 * * * *", ["2024-04-06T14:30", "2024-04-06T15:00", "2024-04-06T15:30"]),
        # 02:00 becomes 02:30, and the next hour is not lost.
        ("Australia/Lord_Howe", "*/30 2-3 * * *", ["2024-10-05T15:30", "2024-10-05T16:00", "2024-10-05T16:30"]),
        # Midnight does not exist; the day begins at one.
        ("America/Santiago", "*/30 * 3 9 *", ["2023-09-03T04:00", "2023-09-03T04:30", "2023-09-03T05:00"]),
    ],
)
def test_every_so_often_follows_the_clocks_as_they_are(zone: str, expression: str, expected: list[str]) -> None:
    cron = parse(expression, zone)
    assert shown(cron.upcoming(ms(expected[0]) - 1, 3)) == expected
    assert shown(backwards(cron, ms(expected[-1]), 3)) == expected


ZONES = ("UTC", "Europe/Berlin", "Australia/Lord_Howe", "America/Santiago", "Antarctica/Troll", "Asia/Kolkata")
DAYS = ("2024-03-31", "2024-10-27", "2024-10-05", "2024-04-06", "2023-09-03", "2023-04-02", "2024-02-29")


@given(
    zone=st.sampled_from(ZONES),
    day=st.sampled_from(DAYS),
    minutes=st.none() | st.sets(st.integers(0, 59), min_size=1, max_size=4),
    hours=st.none() | st.sets(st.integers(0, 23), min_size=1, max_size=8),
    second=st.none() | st.integers(0, 59),
)
def test_the_ticks_are_those_that_a_walk_over_every_minute_finds(
    zone: str, day: str, minutes: set[int] | None, hours: set[int] | None, second: int | None
) -> None:
    start = ms(day) - 86_400_000
    span = range(start, start + 3 * 86_400_000, 60_000)
    walls = {tick: datetime.fromtimestamp(tick / 1000, ZoneInfo(zone)).replace(tzinfo=None) for tick in span}

    def fits(wall: datetime) -> bool:
        return (minutes is None or wall.minute in minutes) and (hours is None or wall.hour in hours)

    if minutes is None or hours is None:
        found = {tick + (second or 0) * 1000 for tick in span if fits(walls[tick])}
    else:
        found = set()
        first = {wall: tick for tick, wall in sorted(walls.items(), reverse=True)}
        wall, last = min(first), max(first)
        while wall <= last:
            if fits(wall) and wall in first:
                found.add(first[wall] + (second or 0) * 1000)
            elif fits(wall):
                found.add(first[min(later for later in first if later > wall)])
            wall += timedelta(minutes=1)
    fields = [",".join(map(str, sorted(part))) if part is not None else "*" for part in (minutes, hours)]
    cron = parse(" ".join([*fields, "* * *", *([] if second is None else [str(second)])]), zone)
    inner = sorted(tick for tick in found if ms(day) - 43_200_000 <= tick < ms(day) + 86_400_000)
    assert cron.upcoming(ms(day) - 43_200_000 - 1, len(inner)) == inner
    assert inner == [] or backwards(cron, ms(day) + 86_400_000 - 1, len(inner)) == inner


@given(
    st.integers(0, 2**41),
    st.sampled_from(["* * * * * *", "*/7 2-4 * * * 10", "0 0 29 2 *", "15 14 L * *", "0 9 * * 1#2"]),
)
def test_forward_and_back_meet(moment: int, expression: str) -> None:
    cron = parse(expression, "Europe/Berlin")
    following = cron.next_after(moment)
    assert following is not None
    assert following > moment
    assert cron.previous_or_at(following) == following
    assert cron.next_after(following - 1) == following
    last = cron.previous_or_at(following - 1)
    assert last is None or last <= moment


def test_an_expression_that_was_stored_before_steps_were_checked_still_fires() -> None:
    assert parse_stored("*/90 * * * *").next_after(ms("2024-01-01")) == ms("2024-01-01T01:00")


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin", "Australia/Lord_Howe", "America/Santiago", "Pacific/Apia"])
@pytest.mark.parametrize(
    "expression",
    [
        "* * * * *",
        "*/20 * * * *",
        "30 2 * * *",
        "0,10,50 1-3 * * *",
        "0 0 31 * *",
        "15 14 L * *",
        "0 9 * * 1#2",
        "*/7 2 * * 1",
    ],
)
def test_ticks_are_counted_as_they_come(expression: str, zone: str) -> None:
    cron = parse(expression, zone)
    for day in ("2011-12-29", "2023-04-01", "2023-09-01", "2024-03-30T23:00", "2024-10-05T14:59", "2024-10-26T23:30"):
        for after, days in ((ms(day), 3), (ms(day) + 5_399_999, 1), (ms(day) + 7_200_000, 40)):
            upto = after + days * 86_400_000 + 1_234
            one_by_one = 0
            tick = cron.next_after(after)
            while tick is not None and tick <= upto and one_by_one < 3_000:
                one_by_one += 1
                tick = cron.next_after(tick)
            assert one_by_one == 3_000 or cron.count(after, upto) == one_by_one, (day, days)


@given(st.integers(0, 2**41), st.integers(0, 3 * 86_400), st.integers(0, 3 * 86_400))
def test_two_counts_make_one(start: int, first: int, second: int) -> None:
    cron = parse("*/7 2-4 * * * 10", "Europe/Berlin")
    middle, end = start + first * 1000, start + (first + second) * 1000
    assert cron.count(start, middle) + cron.count(middle, end) == cron.count(start, end)


@pytest.mark.parametrize(
    ("expression", "zone", "words"),
    [
        ("30 2 * * *", "Europe/Berlin", "At 02:30 every day, Europe/Berlin time"),
        ("0 7 * * MON-FRI", "UTC", "At 07:00 on Monday through Friday, UTC"),
        ("30 2 * * * 15", "UTC", "At 02:30:15 every day, UTC"),
        ("* * * * * *", "UTC", "Every second, UTC"),
        ("*/15 * * * *", "UTC", "Every 15th minute of every hour, UTC"),
        ("*/45 * * * *", "UTC", "At minutes 0 and 45 of every hour, UTC"),
        ("0/45 9-17 * * *", "UTC", "At minutes 0 and 45 past every hour from 9 through 17, UTC"),
        ("0 */7 * * *", "UTC", "At 00:00, 07:00, 14:00, and 21:00 every day, UTC"),
        ("0 */6 * * *", "UTC", "At minute 0 past every sixth hour, UTC"),
        ("* * * * * */40", "UTC", "At seconds 0 and 40 of every minute, UTC"),
        ("0 0 1 */5 *", "UTC", "At 00:00 on the first day of January, June, and November, UTC"),
        ("10-50/25 * * * *", "UTC", "Every 25th minute from 10 through 50 of every hour, UTC"),
    ],
)
def test_an_expression_is_said_in_words(expression: str, zone: str, words: str) -> None:
    assert parse(expression, zone).words == words


@pytest.mark.parametrize("name", NAMED)
def test_a_name_stands_for_its_expression(name: str) -> None:
    assert parse(name, "Asia/Seoul").upcoming(0, 3) == parse(NAMED[name], "Asia/Seoul").upcoming(0, 3)
    assert parse(name).words == parse(NAMED[name]).words


@pytest.mark.parametrize(
    ("expression", "zone", "said"),
    [
        ("60 * * * *", "UTC", "its minute does not fit; use 0 to 59"),
        ("* * * * * 60", "UTC", "its second does not fit"),
        ("* 24 * * *", "UTC", "its hour does not fit"),
        ("* * * * 8", "UTC", "its day-of-week does not fit"),
        ("0 0 30 2 *", "UTC", "never comes in month 2"),
        ("0 0 31 4,6 * 0", "UTC", "never comes in month 4,6"),
        ("*/0 * * * *", "UTC", "its minute does not fit"),
        ("*/90 * * * *", "UTC", "its minute has the step 90, but only 60 values"),
        ("* */24 * * *", "UTC", "its hour has the step 24, but only 24 values"),
        ("0 0 */31 * *", "UTC", "its day-of-month has the step 31"),
        ("0 0 * */12 *", "UTC", "its month has the step 12"),
        ("0 0 * * */7", "UTC", "its day-of-week has the step 7"),
        ("0 0 * * * 1,0-9/60", "UTC", "its second has the step 60"),
        ("* * * *", "UTC", "has 4 fields: use five"),
        ("@reboot", "UTC", "has one field: use five"),
        ("", "UTC", "use 1 to 200 characters"),
        ("9" * 199 + " * * * *", "UTC", "use 1 to 200 characters"),
        ("* * * * *", "Mars/Olympus", "there is no time zone 'Mars/Olympus'"),
        ("* * * * *", "Europe", "there is no time zone 'Europe'"),
        ("* * * * *", "../../etc/passwd", "there is no time zone"),
        ("* * * * *", "", "there is no time zone ''"),
        ("* * * * *", "right/UTC", "there is no time zone"),
    ],
)
def test_what_cannot_be_is_refused_with_the_reason(expression: str, zone: str, said: str) -> None:
    with pytest.raises(InvalidInput, match=said.replace("(", r"\(")):
        parse(expression, zone)


def test_after_the_year_9999_nothing_fires() -> None:
    assert parse("0 0 1 1 *").next_after(ms("9999-06-01")) is None
    assert parse("0 0 1 1 *").previous_or_at(ms("1970-01-01") - 1) is None
