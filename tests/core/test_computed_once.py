"""A value that is computed once, also across a fork."""

from __future__ import annotations

import os
from threading import Barrier, Event, Thread

import pytest

from holdfast.core.computed_once import computed_once
from tests.chaos.processes import PATIENCE_S


class Slow:
    """Says when it computes, and waits until it may end."""

    def __init__(self, *, waits: bool) -> None:
        self.waits = waits
        self.computed = 0
        self.begun, self.may_end = Event(), Event()

    @computed_once
    def value(self) -> int:
        """The value."""
        self.computed += 1
        self.begun.set()
        if self.waits:
            assert self.may_end.wait(PATIENCE_S)
        return 7


def test_it_is_computed_when_it_is_first_asked_for() -> None:
    slow = Slow(waits=False)
    assert slow.computed == 0
    assert (slow.value, slow.value, slow.computed) == (7, 7, 1)
    assert Slow.value.__doc__ == "The value."


def test_threads_that_compute_at_the_same_time_get_the_same_object() -> None:
    class Together:
        """Two must compute before one may end."""

        both = Barrier(2)

        @computed_once
        def value(self) -> object:
            self.both.wait(PATIENCE_S)
            return object()

    together = Together()
    found: list[object] = []
    threads = [Thread(target=lambda: found.append(together.value)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [together.value, together.value]


@pytest.mark.processes
def test_a_child_that_is_forked_while_a_thread_computes_does_not_wait_for_it() -> None:
    slow = Slow(waits=True)
    thread = Thread(target=lambda: slow.value)
    thread.start()
    assert slow.begun.wait(PATIENCE_S)
    child = os.fork()
    if child == 0:
        os._exit(Slow(waits=False).value)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    slow.may_end.set()
    thread.join()
