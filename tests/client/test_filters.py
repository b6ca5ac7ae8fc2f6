"""Type checkers know the filters that there are."""

from __future__ import annotations

from typing import get_type_hints

from holdfast.client.resources.filters import READ, JobFilters
from holdfast.core.declared.options import FILTERS, JobOptions


def test_type_checkers_know_every_filter() -> None:
    assert set(get_type_hints(JobFilters)) == set(READ)


def test_an_option_is_filtered_by_what_it_can_be_set_to() -> None:
    ours, theirs = get_type_hints(JobFilters), get_type_hints(JobOptions)
    assert {one.name: ours[one.name] for one in FILTERS} == {one.name: theirs[one.name] for one in FILTERS}
