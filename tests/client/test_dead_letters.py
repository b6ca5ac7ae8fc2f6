"""Dead letters from a program: list them, and retry or discard all of one kind."""

from __future__ import annotations

import asyncio

import pytest

from holdfast import Holdfast, InvalidInput, NotFound, Permanent
from holdfast.client.resources import dead_letters
from holdfast.core.messages.dead_letters import ClosedAs


def fail_some(hf: Holdfast, *names: str) -> list[str]:
    """Jobs that fail until `broken` is empty; what is in there."""
    broken = ["yes"]

    @hf.task
    def read(name: str) -> None:
        if broken:
            raise Permanent(f"file {name} line {len(name)}", code="ERR_READ")

    read.enqueue_many([{"name": name} for name in names])
    hf.drain()
    return broken


def test_all_of_one_kind_run_again(hf: Holdfast, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dead_letters, "AT_ONCE", 2)
    broken = fail_some(hf, "a.py", "bb.py", "ccc.py")
    [letters] = hf.dead_letters().letters
    assert (letters.jobs, letters.code, letters.pattern) == (3, "ERR_READ", "file <*> line <*>")
    broken.clear()
    assert hf.retry_dead_letters(letters.fingerprint, priority=4).jobs == 3
    assert [job.priority for job in hf.jobs(state="QUEUED").jobs] == [4, 4, 4]
    hf.drain()
    assert (hf.dead_letters().letters, len(hf.jobs(state="DONE").jobs)) == ([], 3)


def test_what_fails_again_is_a_new_letter(hf: Holdfast) -> None:
    fail_some(hf, "a.py", "b.py")
    [letters] = hf.dead_letters().letters
    hf.retry_dead_letters(letters.fingerprint)
    hf.drain()
    page = hf.dead_letters_of(letters.fingerprint)
    assert [job.payload for job in page.jobs] == ['{"name":"b.py"}', '{"name":"a.py"}']
    assert page.letters.jobs == 2


def test_discarding_says_who_and_why(hf: Holdfast, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dead_letters, "AT_ONCE", 1)
    fail_some(hf, "a.py", "b.py")
    [letters] = hf.dead_letters().letters
    assert hf.discard_dead_letters(letters.fingerprint, reason="known").jobs == 2
    [newest, _] = hf.jobs(state="FAILED").jobs
    letter = hf.dead_letter(newest.number)
    assert (letter.closed_as, letter.reason, letter.retried_as) == (ClosedAs.DISCARDED, "known", None)
    assert '"program"' in (letter.closed_by or "")
    with pytest.raises(NotFound, match=letters.fingerprint):
        hf.discard_dead_letters(letters.fingerprint)


def test_the_awaitable_twins_do_the_same(hf: Holdfast) -> None:
    fail_some(hf, "a.py")
    job = hf.jobs().jobs[0].id

    async def go() -> None:
        [letters] = (await hf.adead_letters()).letters
        assert (await hf.adead_letters_of(letters.fingerprint)).letters == letters
        assert (await hf.aretry_dead_letters(letters.fingerprint)).jobs == 1
        assert (await hf.adead_letter(job)).closed_as is ClosedAs.RETRIED
        await asyncio.to_thread(hf.drain)
        assert (await hf.adiscard_dead_letters(letters.fingerprint)).jobs == 1
        assert (await hf.adead_letters()).letters == []

    asyncio.run(go())


def test_a_mistake_is_told(hf: Holdfast) -> None:
    for fingerprint in ("", "f123", "F0123456789ab", "f0123456789ab\n"):
        with pytest.raises(InvalidInput, match="fingerprint"):
            hf.dead_letters_of(fingerprint)
    with pytest.raises(InvalidInput, match="limit"):
        hf.dead_letters(limit=0)
    with pytest.raises(InvalidInput, match="job"):
        hf.dead_letter(0)
