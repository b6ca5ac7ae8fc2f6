"""What a watch says about its jobs is what jobs know, and the watch that users read has the types that are declared."""

from __future__ import annotations

from typing import get_type_hints

from holdfast.core.declared.option import SaidIn
from holdfast.core.declared.options import JobOptions, options_for
from holdfast.core.messages.watches import Watch
from holdfast.core.settings.watch_settings import OF_JOBS, SETTINGS, WatchOptions


def test_a_watch_can_say_every_option_that_may_be_said_in_one() -> None:
    assert {setting.name for setting in OF_JOBS} == {option.name for option in options_for(SaidIn.WATCH)}


def test_the_options_of_its_jobs_have_the_types_that_they_have_for_jobs() -> None:
    ours, theirs = get_type_hints(WatchOptions), get_type_hints(JobOptions)
    assert {one.name: ours[one.name] for one in OF_JOBS} == {one.name: theirs[one.name] for one in OF_JOBS}


def test_a_watch_that_is_read_has_the_types_that_are_declared() -> None:
    hints = get_type_hints(Watch)
    for setting in SETTINGS.values():
        for field in setting.columns:
            kind = setting.fields[field].wire
            assert hints[field] == (kind if setting.default is not None else kind | None), field
