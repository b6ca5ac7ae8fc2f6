"""Dead letters: what failed for good is listed by what it failed of, until somebody has dealt with it."""

from __future__ import annotations

import pytest

from holdfast.core.errors import InvalidInput, NotFound
from holdfast.core.job import JobId, Millis
from holdfast.core.jobs.settle import Broke
from holdfast.core.messages.dead_letters import ClosedAs, Closing, DeadLetters, Letter
from holdfast.core.values.group import GroupMode
from holdfast.core.values.retry import Failure, FailureKind, RetryMode, RetryPolicy
from holdfast.store.engine import Engine
from holdfast.store.scripts.jobs.dead_letter_rows import letter_of, name_old_letters
from holdfast.store.scripts.jobs.dead_letters import (
    discard_dead_letters,
    find_dead_letters,
    list_dead_letters,
    retry_dead_letters,
)
from holdfast.store.scripts.jobs.group_jobs import retry_group
from holdfast.store.scripts.jobs.retry import retry_job
from holdfast.store.scripts.maintenance.retention import forget_old
from tests.store.acts import (
    DONE,
    FAILED,
    NOW,
    PATIENCE_S,
    claim_one,
    claim_some,
    claimed_ids,
    end,
    execute,
    group,
    last,
    let_time_pass,
    put_and_end,
    put_one,
    row,
    select,
    write,
)

LATER = NOW + 10_000_000
CHAIN = RetryPolicy(retries=1, mode=RetryMode.CHAIN)


def broke(message: str, code: str = "ERR_TEST") -> Broke:
    return Broke(Failure(FailureKind.PERMANENT, code, message))


def listed(engine: Engine) -> list[DeadLetters]:
    return engine.query(list_dead_letters).letters


def counts(engine: Engine) -> dict[str, int]:
    return {letters.pattern: letters.jobs for letters in listed(engine)}


def only(engine: Engine) -> str:
    """The one fingerprint that there is."""
    [letters] = listed(engine)
    return letters.fingerprint


def letter(engine: Engine, job_id: JobId) -> Letter:
    return engine.query(letter_of, job_id)


def closing(engine: Engine, jobs: int, outdated: int = 0, *, more: bool = False, upto: JobId = "c") -> Closing:
    """So many were dealt with, of those up to a job."""
    return Closing(jobs, outdated, more, row(engine, upto).number)


def fail(engine: Engine, *job_ids: JobId, now: Millis = NOW, message: str = "it broke") -> None:
    for job_id in job_ids:
        put_and_end(engine, job_id, broke(message), now=now)


def test_failures_of_one_kind_are_one_line_with_counts_and_an_example(engine: Engine) -> None:
    put_and_end(engine, "a", broke("file a.py line 3"), now=NOW)
    put_and_end(engine, "b", broke("file b.py line 7"), now=NOW + 9)
    put_and_end(engine, "c", broke("the mailbox is gone"), now=NOW + 5)
    put_and_end(engine, "fine", now=NOW + 10)
    alike, other = listed(engine)
    assert (alike.pattern, alike.jobs, alike.first_seen, alike.last_seen) == ("file <*> line <*>", 2, NOW, NOW + 9)
    assert (alike.kind, alike.code, alike.is_poison) == (FailureKind.PERMANENT, "ERR_TEST", False)
    assert (alike.example.job_id, alike.example.task, alike.example.message) == ("b", "t", "file b.py line 7")
    assert (other.pattern, other.jobs) == ("the mailbox is gone", 1)


def test_the_jobs_of_a_fingerprint_come_in_pages(engine: Engine) -> None:
    fail(engine, "a", "b", "c")
    page = engine.query(find_dead_letters, only(engine), 2)
    assert ([job.id for job in page.jobs], page.letters.jobs) == (["c", "b"], 3)
    rest = engine.query(find_dead_letters, only(engine), 2, page.cursor)
    assert ([job.id for job in rest.jobs], rest.cursor) == (["a"], None)


def test_fingerprints_come_in_pages_too(engine: Engine) -> None:
    for moment, name in ((NOW, "one"), (NOW + 5, "two"), (NOW + 5, "three")):
        fail(engine, name, now=moment, message=name)
    seen, cursor = [], None
    for _ in range(3):
        page = engine.query(list_dead_letters, 1, cursor)
        seen += [letters.pattern for letters in page.letters]
        cursor = page.cursor
    assert (sorted(seen[:2]), seen[2:], cursor) == (["three", "two"], ["one"], None)


def test_of_a_chain_only_the_last_link_is_a_letter(engine: Engine) -> None:
    put_and_end(engine, "a", FAILED, policy=CHAIN)
    assert listed(engine) == []
    let_time_pass(engine, LATER)
    end(engine, claim_one(engine, now=LATER), FAILED, LATER)
    [letters] = listed(engine)
    assert (letters.jobs, letters.example.job_id) == (1, last(engine, "a").id)


def test_a_retry_that_is_left_and_jobs_of_the_system_are_no_letters(engine: Engine) -> None:
    put_and_end(engine, "a", FAILED, policy=RetryPolicy(retries=1))
    put_one(engine, "own", queue="holdfast.canary")
    end(engine, claim_one(engine, queues=("holdfast.canary",)), broke("no"))
    assert listed(engine) == []


def die_of_it(engine: Engine, job_id: JobId) -> None:
    """A job that takes down three processes."""
    put_one(engine, job_id, policy=RetryPolicy(initial_ms=0))
    for _ in range(3):
        death = Broke(Failure(FailureKind.INFRA, "SIGNAL_SIGSEGV", "killed"), death=True)
        end(engine, claim_one(engine), death)
        let_time_pass(engine, NOW)


def test_a_poison_pill_has_a_mark(engine: Engine) -> None:
    die_of_it(engine, "a")
    [letters] = listed(engine)
    assert (letters.is_poison, letters.code, letters.kind) == (True, "ERR_POISON", FailureKind.INFRA)


def test_poison_pills_can_be_listed_alone(engine: Engine) -> None:
    put_and_end(engine, "plain", broke("it never works"))
    assert engine.query(list_dead_letters, poison=True).letters == []
    die_of_it(engine, "bad")
    assert len(listed(engine)) == 2
    [letters] = engine.query(list_dead_letters, poison=True).letters
    assert (letters.jobs, letters.example.job_id) == (1, "bad")


def test_retry_makes_new_jobs_in_order_and_empties_the_list(engine: Engine) -> None:
    fail(engine, "a", "b", "c")
    fingerprint = only(engine)
    assert write(engine, retry_dead_letters, fingerprint, LATER, trigger="me") == closing(engine, 3)
    new = claimed_ids(engine, now=LATER)
    assert [letter(engine, old).retried_as for old in "abc"] == new
    assert (letter(engine, "a").closed_as, letter(engine, "a").closed_by) == (ClosedAs.RETRIED, "me")
    assert listed(engine) == []
    with pytest.raises(NotFound, match=fingerprint):
        write(engine, retry_dead_letters, fingerprint, LATER)


def test_retry_goes_in_steps_and_leaves_alone_what_fails_again_meanwhile(engine: Engine) -> None:
    fail(engine, "a", "b", "c")
    fingerprint = only(engine)
    first = write(engine, retry_dead_letters, fingerprint, NOW, limit=2)
    assert first == closing(engine, 2, more=True)
    for run in claim_some(engine):
        end(engine, run, broke("it broke"))
    second = write(engine, retry_dead_letters, fingerprint, NOW, upto=first.upto, limit=2)
    assert second == closing(engine, 1)
    assert counts(engine) == {"it broke": 2}


def test_of_several_who_retry_at_the_same_time_one_makes_the_new_job(engine: Engine) -> None:
    fail(engine, "a", "b", "c")
    fingerprint, upto = only(engine), row(engine, "c").number
    tries = [engine.submit(retry_dead_letters, fingerprint, NOW, upto=upto) for _ in range(4)]
    assert sum(one.result(PATIENCE_S).jobs for one in tries) == 3
    assert len(claimed_ids(engine)) == 3


def test_a_retry_may_have_another_priority(engine: Engine) -> None:
    fail(engine, "a")
    write(engine, retry_dead_letters, only(engine), NOW, 7)
    assert row(engine, claim_one(engine).job_id).priority == 7


def test_what_is_retried_and_goes_well_is_gone_and_what_fails_is_a_new_letter(engine: Engine) -> None:
    fail(engine, "a", "b")
    write(engine, retry_dead_letters, only(engine), NOW)
    well, badly = claim_some(engine)
    end(engine, well, DONE)
    end(engine, badly, broke("it broke"))
    [letters] = listed(engine)
    assert (letters.jobs, letters.example.job_id) == (1, badly.job_id)


def test_an_older_generation_does_not_run_again(engine: Engine) -> None:
    for generation, name in ((1, "old"), (2, "young")):
        put_and_end(engine, name, broke("it broke"), subject="s", generation=generation)
    assert write(engine, retry_dead_letters, only(engine), NOW) == closing(engine, 1, 1, upto="young")
    assert letter(engine, "old").closed_as is ClosedAs.OUTDATED
    assert claim_one(engine).generation == 3


def test_a_retry_by_hand_takes_one_from_the_list(engine: Engine) -> None:
    fail(engine, "a", "b")
    answer = write(engine, retry_job, "a", NOW)
    assert (letter(engine, "a").retried_as, counts(engine)) == (answer.id, {"it broke": 1})


def test_the_retry_of_a_group_takes_its_members_from_the_list(engine: Engine) -> None:
    group(engine, "g", GroupMode.PARALLEL)
    put_and_end(engine, "a", broke("it broke"), group_id="g")
    [answer] = write(engine, retry_group, "g", NOW)
    assert (letter(engine, "a").retried_as, listed(engine)) == (answer.id, [])


def test_discard_says_who_when_and_why_and_leaves_the_jobs(engine: Engine) -> None:
    fail(engine, "a", "b", "c")
    before = row(engine, "a")
    first = write(engine, discard_dead_letters, only(engine), LATER, "known", None, 2, "me")
    assert first == closing(engine, 2, more=True)
    assert write(engine, discard_dead_letters, only(engine), LATER, upto=first.upto) == closing(
        engine, 1, 0, more=False
    )
    gone = letter(engine, "a")
    assert (gone.closed_as, gone.closed_at, gone.closed_by, gone.reason) == (ClosedAs.DISCARDED, LATER, "me", "known")
    assert (listed(engine), row(engine, "a")) == ([], before)


def test_a_letter_goes_with_its_job(engine: Engine) -> None:
    fail(engine, "a")
    write(engine, forget_old, NOW + 1)
    assert select(engine, "SELECT * FROM dead_letters") == []


def test_what_failed_before_there_were_fingerprints_gets_one(engine: Engine) -> None:
    fail(engine, "a", "b", "c")
    named = only(engine)
    execute(engine, "UPDATE dead_letters SET fingerprint = ''")
    assert listed(engine) == []
    assert [write(engine, name_old_letters, 2) for _ in range(2)] == [2, 1]
    assert (only(engine), counts(engine)) == (named, {"it broke": 3})


@pytest.mark.parametrize("cursor", ["nonsense", "bjU", "MS4hIQ"])
def test_a_cursor_of_somebody_else_is_refused(engine: Engine, cursor: str) -> None:
    with pytest.raises(InvalidInput, match="cursor"):
        engine.query(list_dead_letters, 5, cursor)


def test_a_job_that_has_not_failed_has_no_letter(engine: Engine) -> None:
    put_and_end(engine, "a")
    with pytest.raises(NotFound, match="'a'"):
        letter(engine, "a")
