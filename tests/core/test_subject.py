"""Generations and tenants."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.core.values.subject import DEFAULT_TENANT, Newest, Same, Stale, arrive, tenant_of

generations = st.integers(0, 2**62)
parts = st.text(st.characters(exclude_characters=":"), min_size=1, max_size=8)


@given(generations)
def test_a_request_without_a_generation_is_the_next(newest: int) -> None:
    assert arrive(None, newest) == Newest(newest + 1)


def test_the_first_request_of_a_subject_is_generation_one() -> None:
    assert arrive(None, None) == Newest(1)


@given(generations)
def test_the_first_generation_that_is_asked_for_is_the_newest(asked: int) -> None:
    assert arrive(asked, None) == Newest(asked)


@given(generations, generations)
def test_a_generation_is_newer_the_same_or_stale(asked: int, newest: int) -> None:
    arrival = arrive(asked, newest)
    if asked > newest:
        assert arrival == Newest(asked)
    elif asked == newest:
        assert arrival == Same(asked)
    else:
        assert arrival == Stale(asked, newest)


@given(st.lists(st.none() | st.integers(0, 20)))
def test_the_newest_generation_never_goes_back(requests: list[int | None]) -> None:
    newest: int | None = None
    for asked in requests:
        arrival = arrive(asked, newest)
        if isinstance(arrival, Newest):
            assert newest is None or arrival.generation > newest
            newest = arrival.generation


@given(parts, parts, parts)
def test_the_tenant_is_client_and_repo_of_three_parts(client: str, repo: str, path: str) -> None:
    assert tenant_of(f"{client}::{repo}::{path}") == f"{client}::{repo}"


@given(parts, parts)
def test_a_path_may_hold_more_separators(client: str, repo: str) -> None:
    assert tenant_of(f"{client}::{repo}::a::b::c") == f"{client}::{repo}"


@pytest.mark.parametrize("subject", [None, "", "a", "a::b", "::b::c", "a::::c", "::::", "a:b:c"])
def test_every_other_subject_belongs_to_the_default_tenant(subject: str | None) -> None:
    assert tenant_of(subject) == DEFAULT_TENANT
