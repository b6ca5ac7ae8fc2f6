"""Which chores there are, when they are due, and when they pay."""

from __future__ import annotations

import pytest

from holdfast.core.machine.maintenance import (
    DAY_MS,
    HOUR_MS,
    RULES,
    Chore,
    Space,
    can_release,
    chore_of,
    chores_of,
    is_worth_vacuuming,
    next_due,
    task_of,
)
from holdfast.core.rules.value_rules import NAME

NOW = 1_700_000_000_000
MIB = 1 << 20


def test_every_chore_has_a_rule() -> None:
    assert set(RULES) == set(Chore)


@pytest.mark.parametrize("chore", Chore)
def test_a_task_tells_its_chore(chore: Chore) -> None:
    task = NAME.check("task", task_of(chore, "node-1a2b3c"))
    assert chore_of(task) is chore


def test_only_chores_about_places_name_one() -> None:
    assert [chore for chore in Chore if task_of(chore, "here") != task_of(chore, "there")] == [Chore.FILES]


@pytest.mark.parametrize("task", ["command", "retention", "holdfast.canary", "holdfast."])
def test_other_tasks_are_no_chores(task: str) -> None:
    assert chore_of(task) is None


def test_a_server_has_no_chores_of_files() -> None:
    assert set(Chore) - set(chores_of(is_file=False)) == {Chore.CHECKPOINT, Chore.INCREMENTAL_VACUUM, Chore.VACUUM}


def test_a_new_database_is_not_looked_after_at_once() -> None:
    assert next_due(None, Chore.ANALYZE, NOW) == NOW + DAY_MS


def test_what_asks_first_asks_at_once() -> None:
    assert next_due(None, Chore.RETENTION, NOW) == NOW


def test_a_clock_that_was_set_back_puts_off_nothing_for_long() -> None:
    assert next_due(NOW + 365 * DAY_MS, Chore.RETENTION, NOW) == NOW + HOUR_MS


@pytest.mark.parametrize(
    ("free_mib", "of_mib", "pays"),
    [(65, 100, True), (65, 1_000, False), (63, 100, False), (300, 1_000, True), (0, 0, False)],
)
def test_a_vacuum_pays_if_much_of_much_is_free(free_mib: int, of_mib: int, pays: bool) -> None:
    assert is_worth_vacuuming(Space(of_mib * MIB // 4096, free_mib * MIB // 4096, 4096, False)) is pays


def test_pages_can_be_given_back_only_where_the_file_keeps_track_of_them() -> None:
    pages = 100 * MIB // 4096
    assert can_release(Space(pages, pages // 2, 4096, True))
    assert not can_release(Space(pages, pages // 2, 4096, False))


def test_a_little_free_space_stays_for_what_comes_next() -> None:
    assert not can_release(Space(1_000, 1_000, 4096, True))
