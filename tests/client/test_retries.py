"""What becomes of a job whose task raises."""

from __future__ import annotations

import errno
import math
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from holdfast import (
    Context,
    Holdfast,
    Infra,
    InvalidPayload,
    JobFailed,
    JobHandle,
    Permanent,
    Retry,
    RunStatus,
    Skip,
    Snooze,
    StateName,
    StoreBusy,
    Transient,
)
from holdfast.core.errors import InvalidInput
from holdfast.testing import ManualClock
from tests.client.acts import WAIT

LONG = timedelta(hours=2)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def hf(make_holdfast: Callable[..., Holdfast], clock: ManualClock) -> Holdfast:
    return make_holdfast(clock=clock)


def drain_all(hf: Holdfast, clock: ManualClock) -> int:
    """Every run there is, letting pass whatever time a retry waits for."""
    runs = 0
    while taken := hf.drain():
        runs += taken
        clock.advance(LONG)
    return runs


def raiser(hf: Holdfast, error: BaseException, retry: Retry | int = 0) -> JobHandle[None]:
    """A job whose task raises the same error at every try."""

    @hf.task(retry=retry)
    def task() -> None:
        raise error

    return task.enqueue()


@pytest.mark.parametrize("mode", ["requeue", "chain"])
def test_a_job_is_tried_again_until_it_works(hf: Holdfast, clock: ManualClock, mode: str) -> None:
    @hf.task(retry=Retry(5, mode=mode))
    def flaky(ctx: Context) -> int:
        if ctx.attempt < 3:
            raise ConnectionError(f"try {ctx.attempt}")
        return ctx.attempt

    handle = flaky.enqueue()
    assert drain_all(hf, clock) == 3
    assert handle.result(timeout=WAIT) == 3
    assert [(run.attempt, run.status) for run in handle.runs] == [
        (1, RunStatus.FAILED),
        (2, RunStatus.FAILED),
        (3, RunStatus.COMPLETED),
    ]


@pytest.mark.parametrize("mode", ["requeue", "chain"])
def test_a_job_fails_when_no_retry_is_left(hf: Holdfast, clock: ManualClock, mode: str) -> None:
    handle = raiser(hf, ConnectionError("refused"), Retry(2, mode=mode))
    assert drain_all(hf, clock) == 3
    with pytest.raises(JobFailed, match="refused") as raised:
        handle.result(timeout=WAIT)
    assert (raised.value.error_code, len(handle.runs)) == ("ConnectionError", 3)


def test_a_handle_follows_the_last_link_of_a_chain(hf: Holdfast, clock: ManualClock) -> None:
    handle = raiser(hf, ConnectionError(), Retry(1, mode="chain"))
    hf.drain()
    assert handle.job.id != handle.id
    assert (handle.job.retry_of, handle.state) == (handle.id, StateName.SCHEDULED)
    handle.cancel()
    assert handle.wait(timeout=WAIT) is StateName.CANCELLED
    assert hf.job(handle.id).state is StateName.CANCELLED


def test_a_waiter_for_the_first_link_hears_of_the_last(hf: Holdfast, clock: ManualClock) -> None:
    @hf.task(retry=Retry(3, initial=0, mode="chain"))
    def flaky(ctx: Context) -> int:
        if ctx.attempt < 3:
            raise ConnectionError
        return ctx.attempt

    with hf:
        assert flaky.enqueue().result(timeout=WAIT) == 3


def test_pauses_grow_by_the_factor_up_to_the_cap(hf: Holdfast, clock: ManualClock) -> None:
    handle = raiser(hf, ConnectionError(), Retry(4, initial=10, factor=3, cap=60))
    pauses = []
    for _ in range(4):
        hf.drain()
        state: Any = handle.job.state
        pauses.append((state.until - clock.now()) / 1000)
        clock.advance(60)
    assert pauses == [pytest.approx(base, rel=0.1) for base in (10, 30, 60, 60)]
    assert max(pauses) <= 60


KINDS: list[tuple[BaseException, str, str]] = [
    (Transient("later", code="ERR_LATER"), "transient", "ERR_LATER"),
    (Permanent("never"), "permanent", "ERR_PERMANENT"),
    (Infra("the GPU fell off the bus"), "infra", "ERR_INFRA"),
    (ValueError("x"), "transient", "ValueError"),
    (TimeoutError(), "transient", "TimeoutError"),
    (InvalidPayload("x"), "permanent", "InvalidPayload"),
    (MemoryError(), "infra", "MemoryError"),
    (OSError(errno.ENOSPC, "no space left"), "infra", "OSError"),
    (OSError(errno.EIO, "input/output error"), "transient", "OSError"),
    (StoreBusy("locked"), "infra", "StoreBusy"),
    (SystemExit(3), "transient", "SystemExit"),
    (KeyboardInterrupt(), "transient", "KeyboardInterrupt"),
    (GeneratorExit(), "transient", "GeneratorExit"),
    (BaseExceptionGroup("two", [ValueError(), KeyError()]), "transient", "ExceptionGroup"),
]


@pytest.mark.parametrize(("error", "kind", "code"), KINDS, ids=lambda value: repr(value)[:30])
@pytest.mark.parametrize("is_coroutine", [False, True])
def test_every_exception_is_a_failure_of_its_kind(
    hf: Holdfast, error: BaseException, kind: str, code: str, is_coroutine: bool
) -> None:
    def function() -> None:
        raise error

    async def coroutine() -> None:
        raise error

    handle: JobHandle[Any] = (hf.task(coroutine) if is_coroutine else hf.task(function)).enqueue()
    assert hf.drain() == 1
    [run] = handle.runs
    assert (run.status, run.error_kind, run.error_code) == (RunStatus.FAILED, kind, code)
    assert run.error


def test_a_permanent_failure_is_not_tried_again(hf: Holdfast, clock: ManualClock) -> None:
    handle = raiser(hf, Permanent("never"), Retry(5))
    assert drain_all(hf, clock) == 1
    assert handle.state is StateName.FAILED


def test_exceptions_listed_as_permanent_are_not_tried_again(hf: Holdfast, clock: ManualClock) -> None:
    handle = raiser(hf, KeyError("x"), Retry(5, permanent=(LookupError, ValueError)))
    assert drain_all(hf, clock) == 1
    assert handle.runs[0].error_kind == "permanent"


def test_infra_failures_have_a_budget_of_their_own(hf: Holdfast, clock: ManualClock) -> None:
    handle = raiser(hf, MemoryError(), Retry(0, infra=2))
    assert drain_all(hf, clock) == 3
    assert (handle.state, handle.job.tries.infra, handle.job.tries.transient) == (StateName.FAILED, 3, 0)


def test_without_an_infra_budget_a_job_never_runs_twice(hf: Holdfast, clock: ManualClock) -> None:
    raiser(hf, Infra("x"), Retry(5, infra=0))
    assert drain_all(hf, clock) == 1


def test_a_snoozed_job_comes_back_later_at_no_charge(hf: Holdfast, clock: ManualClock) -> None:
    @hf.task
    def patient(ctx: Context) -> int:
        if ctx.attempt <= 3:
            raise Snooze(timedelta(minutes=10))
        return ctx.attempt

    handle = patient.enqueue()
    assert hf.drain() == 1
    assert (handle.state, handle.runs[0].status) == (StateName.SCHEDULED, RunStatus.YIELDED)
    clock.advance(599)
    assert hf.drain() == 0
    clock.advance(1)
    assert drain_all(hf, clock) == 3
    assert (handle.result(timeout=WAIT), handle.job.tries.transient) == (4, 0)


def test_a_skipped_job_is_done(hf: Holdfast, clock: ManualClock) -> None:
    handle = raiser(hf, Skip("nothing changed \x00"), Retry(3))
    assert drain_all(hf, clock) == 1
    [run] = handle.runs
    assert (handle.state, run.status, run.error) == (StateName.DONE, RunStatus.SKIPPED, "skipped: nothing changed \\0")


@pytest.mark.parametrize("delay", [-1, -0.5, timedelta(seconds=-1), 1e300, math.inf, math.nan])
def test_a_snooze_into_the_past_or_beyond_all_time_is_refused(delay: Any) -> None:
    with pytest.raises(InvalidInput, match=r"delay .* is not valid: use 0 s to 100 years"):
        Snooze(delay)


def test_the_traceback_is_kept_on_the_run(hf: Holdfast) -> None:
    @hf.task
    def outer() -> None:
        inner()

    def inner() -> None:
        raise ValueError("deep down: ✓ \x00 \ud800")

    handle = outer.enqueue()
    hf.drain()
    [run] = handle.runs
    assert run.traceback is not None
    assert "in inner" in run.traceback
    assert run.traceback.rstrip().splitlines()[-1].startswith("ValueError: deep down: ✓ \\0")
    assert run.error == "deep down: ✓ \\0 \\ud800"


class Speechless(Exception):
    def __str__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (Speechless(), "its message cannot be read"),
        (Transient("x" * 1_000_000, code="\x00\ud800" * 1_000), "x" * 2_000),
        (
            UnicodeEncodeError("utf-8", "\ud800", 0, 1, "no"),
            "'utf-8' codec can't encode character '\\ud800' in position 0: no",
        ),
    ],
    ids=["speechless", "long", "surrogate"],
)
def test_whatever_an_exception_says_its_run_ends(hf: Holdfast, error: BaseException, message: str) -> None:
    handle = raiser(hf, error)
    assert hf.drain() == 1
    [run] = handle.runs
    assert (run.error, handle.state) == (message, StateName.FAILED)
    assert run.traceback is not None
    assert len(run.traceback) <= 50_000


def test_a_payload_that_no_longer_fits_fails_for_good(make_holdfast: Callable[..., Holdfast]) -> None:
    before, after = make_holdfast(), make_holdfast()

    def old(x: str) -> None: ...
    def new(x: int) -> None: ...

    handle = before.task(name="changed", retry=3)(old).enqueue(x="a")
    after.task(name="changed", retry=3)(new)
    after.drain()
    with pytest.raises(JobFailed, match="the payload does not fit task 'changed': Expected `int`, got `str`"):
        handle.result(timeout=WAIT)


def test_a_retry_by_hand_is_a_new_job(hf: Holdfast) -> None:
    handle = raiser(hf, ValueError("x"))
    hf.drain()
    again = handle.retry(priority=7)
    assert again.id != handle.id
    assert (again.state, again.job.priority, handle.state) == (StateName.QUEUED, 7, StateName.FAILED)
    assert hf.drain() == 1
    assert again.wait(timeout=WAIT) is StateName.FAILED


def test_a_job_that_has_failed_for_good_is_a_warning(
    make_holdfast: Callable[..., Holdfast], caplog: pytest.LogCaptureFixture
) -> None:
    hf = make_holdfast()

    @hf.task(retry=Retry(1, initial=0))
    def breaks() -> None:
        raise ValueError("no such thing")

    handle = breaks.enqueue()
    hf.drain()
    # What tests before this one used is closed meanwhile, and may have something to say as well.
    said = [(record.levelname, record.getMessage()) for record in caplog.records]
    about_it = [line for line in said if handle.id in line[1]]
    assert about_it == [("WARNING", f"job {handle.id} failed: ValueError: no such thing")]
