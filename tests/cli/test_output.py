"""How tables and times look."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from holdfast.cli.frame.output import bar, cut, size, table, width
from holdfast.cli.frame.times import ago, length, moment, seconds
from holdfast.core.errors import InvalidInput


def test_a_table_is_as_wide_as_it_needs_to_be() -> None:
    lines = table(["a", "number"], [["long text", "7"], ["x", "12"]], None, right=["number"])
    assert lines == ["A          NUMBER", "long text       7", "x              12"]


def test_a_table_fits_and_the_widest_cell_gives_way() -> None:
    lines = table(["job", "detail"], [["12345", "x" * 100]], 30)
    assert [len(line) for line in lines] == [len("JOB    DETAIL"), 30]
    assert lines[1] == "12345  " + "x" * 22 + "…"


def test_wide_letters_take_two_columns() -> None:
    assert width("日本") == 4
    assert width("e\N{COMBINING ACUTE ACCENT}") == 1
    assert cut("日本語", 5) == "日本…"
    assert table(["a", "b"], [["日本", "x"], ["abcd", "y"]], None)[1:] == ["日本  x", "abcd  y"]


def test_nothing_in_a_cell_can_move_the_cursor() -> None:
    assert table(["a"], [["x\x1b[2Jy\r\nz\x07"]], None)[1:] == ["xy z"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("90", 90),
        ("1.5", 1.5),
        ("500ms", 0.5),
        ("1h30m", 5400),
        ("1h 30m", 5400),
        ("5min", 300),
        ("7 days", 604_800),
        ("2d", 172_800),
        ("0", 0),
    ],
)
def test_a_duration_is_read(text: str, expected: float) -> None:
    assert seconds("ttl", text) == expected


@pytest.mark.parametrize("text", ["", "x", "-1", "1y", "1h  30m", "1e9", "٣s"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match=r"--ttl .* is not valid: use 0 s to 100 years, in seconds or as a text"):
        seconds("ttl", text)


def test_a_clock_time_is_the_next_one() -> None:
    found = moment("at", "12:34")
    now = datetime.now(UTC)
    assert found is not None
    assert (found.hour, found.minute, now < found <= now + timedelta(days=1)) == (12, 34, True)


def test_a_moment_keeps_its_zone_or_gets_that_of_the_machine() -> None:
    assert moment("at", "2030-01-31T18:30+01:00") == datetime(2030, 1, 31, 17, 30, tzinfo=UTC)
    here = moment("at", "2030-01-31T18:30")
    assert here is not None
    assert here.replace(tzinfo=None) == datetime(2030, 1, 31, 18, 30)
    assert here.utcoffset() is not None


@pytest.mark.parametrize("text", ["", "25:00", "tomorrow", "2030-02-30", "1960-01-01"])
def test_what_is_no_moment_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match=r"--at .* is not valid: use a moment from 1970 to 9999, written as 18:30"):
        moment("at", text)


@pytest.mark.parametrize(
    ("millis", "expected"),
    [(5, "5ms"), (1_500, "1.5s"), (12_000, "12s"), (61_000, "1m 1s"), (7_260_000, "2h 1m"), (90_000_000, "1d 1h")],
)
def test_a_length_has_at_most_two_units(millis: int, expected: str) -> None:
    assert length(millis) == expected


@pytest.mark.parametrize(
    ("seconds_ago", "expected"), [(0, "0s ago"), (59, "59s ago"), (120, "2m ago"), (-90, "in 2m"), (200_000, "2d ago")]
)
def test_a_distance_has_one_unit(seconds_ago: float, expected: str) -> None:
    assert ago(1_000_000_000_000, 1_000_000_000 + seconds_ago) == expected


def test_a_bar_is_as_full_as_its_fraction() -> None:
    assert [bar(0, 4), bar(0.5, 4), bar(1, 4), bar(7, 4)] == ["    ", "██  ", "████", "████"]


def test_sizes_have_a_unit() -> None:
    assert [size(5), size(2048), size(300 << 20), size(5 << 40)] == ["5 B", "2.0 KiB", "300 MiB", "5.0 TiB"]
