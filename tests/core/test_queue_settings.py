"""What a queue says about its jobs is what jobs know."""

from __future__ import annotations

from typing import get_type_hints

import pytest

from holdfast.core.declared.option import SaidIn
from holdfast.core.declared.options import JobOptions, options_for
from holdfast.core.settings.queue_settings import OF_JOBS, QueueSettings, of_jobs


def test_a_queue_can_say_every_option_that_may_be_said_in_one() -> None:
    assert set(OF_JOBS) == {option.name for option in options_for(SaidIn.QUEUE)}


def test_the_options_of_its_jobs_have_the_types_that_they_have_for_jobs() -> None:
    ours, theirs = get_type_hints(QueueSettings), get_type_hints(JobOptions)
    assert {name: ours[name] for name in OF_JOBS} == {name: theirs[name] for name in OF_JOBS}


@pytest.mark.parametrize("name", ["ttl", "priority"])
def test_a_queue_says_no_option_that_the_declaration_does_not_give_it(name: str) -> None:
    with pytest.raises(AssertionError, match=name):
        of_jobs(name, "1")
