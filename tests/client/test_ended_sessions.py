"""How each life of a process ended is on record."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta

import pytest

from holdfast import Holdfast, NotFound
from holdfast.testing import ManualClock


def test_a_block_that_ends_well_is_a_success(hf: Holdfast) -> None:
    with hf:
        assert hf.ended_sessions().sessions == []
    [session] = hf.ended_sessions().sessions
    assert (session.status, session.kind, session.error_type, session.rows_dropped) == ("success", "embedded", None, 0)


def test_a_block_that_raises_is_an_error_with_its_traceback(hf: Holdfast) -> None:
    with pytest.raises(ValueError, match="kaputt"), hf:
        raise ValueError("kaputt")
    [session] = hf.ended_sessions().sessions
    assert (session.status, session.error_type, session.error_message) == ("error", "ValueError", "kaputt")
    assert 'raise ValueError("kaputt")' in (session.error_traceback or "")


def test_an_awaited_block_that_raises_is_an_error(hf: Holdfast) -> None:
    async def work() -> None:
        async with hf:
            raise ValueError("kaputt")

    with pytest.raises(ValueError, match="kaputt"):
        asyncio.run(work())
    assert hf.ended_sessions().sessions[0].error_type == "ValueError"


def test_who_leaves_a_block_by_ctrl_c_ends_it_in_order(hf: Holdfast) -> None:
    with pytest.raises(KeyboardInterrupt), hf:
        raise KeyboardInterrupt
    assert hf.ended_sessions().sessions[0].status == "success"


def test_the_list_goes_by_number_and_has_pages(hf: Holdfast) -> None:
    for _ in range(3):
        with hf:
            pass
    first = hf.ended_sessions(limit=2)
    rest = hf.ended_sessions(limit=2, cursor=first.cursor)
    assert [session.number for session in first.sessions + rest.sessions] == [3, 2, 1]
    assert rest.cursor is None
    with pytest.raises(NotFound, match="there is no session 'what'"):
        hf.ended_sessions(cursor="what")


def test_the_list_may_be_of_a_while(make_holdfast: Callable[..., Holdfast]) -> None:
    clock = ManualClock()
    hf = make_holdfast(clock=clock)
    with hf:
        pass
    clock.advance(timedelta(hours=2))
    with hf:
        pass
    assert [session.number for session in hf.ended_sessions(since="1h").sessions] == [2]


def test_old_calls_go_by_themselves(make_holdfast: Callable[..., Holdfast]) -> None:
    hf = make_holdfast(keep_telemetry="1h")
    assert "telemetry" in {chore.chore for chore in hf.maintenance()}
