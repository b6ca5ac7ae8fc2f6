"""What the declaration of the options promises, and what users read is as it says."""

from __future__ import annotations

from typing import Any, get_type_hints

import msgspec
import pytest
from msgspec import structs

from holdfast.core.declared.option import JobOption, OptionKind, SaidIn
from holdfast.core.declared.option_kinds import (
    ATTRIBUTES,
    EXECUTION,
    FLAG,
    LABEL,
    NODE,
    PRIORITY,
    RETRY,
    TOKENS,
    VARIABLES,
)
from holdfast.core.declared.options import OPTIONS, options_for
from holdfast.core.jobs.requests import NewJob
from holdfast.core.jobs.stored_job import Job
from holdfast.core.rules.value_rules import REASON
from holdfast.core.settings.rule_table import rules_with
from holdfast.core.tasks.task import KeptOptions, Overrides, ScheduleOptions, TaskOptions


def test_a_job_that_is_read_has_the_types_and_defaults_that_are_declared() -> None:
    hints = get_type_hints(Job)
    fields = {field.name: field for field in structs.fields(Job)}
    for option in OPTIONS.values():
        if option.columns and option.is_answered:
            found = fields[option.wire]
            # Every row has a queue, a tenant and a priority.
            assert found.required == (option.name in ("queue", "tenant", "priority")), option.name
            if not found.required:
                made: Any = found.default if found.default is not msgspec.NODEFAULT else found.default_factory()
                assert made == option.default, option.name
            assert (type(None) in getattr(hints[option.wire], "__args__", ())) == (option.default is None), option.name


def test_the_line_of_a_job_that_says_nothing_is_the_usual_one() -> None:
    usual = tuple(OPTIONS[name].default for name in ("queue", "tenant", "priority"))
    assert NewJob(id="j", task="t").line == usual == ("default", "default", 0)


@pytest.mark.parametrize("kind", [LABEL, PRIORITY, FLAG, EXECUTION])
def test_lists_can_be_filtered_by_one_value_in_one_column(kind: OptionKind) -> None:
    assert JobOption(kind=kind, help="", wire="colour").is_comparable


@pytest.mark.parametrize("kind", [RETRY, TOKENS, NODE, VARIABLES, ATTRIBUTES])
def test_lists_cannot_be_filtered_by_what_a_statement_cannot_compare(kind: OptionKind) -> None:
    assert not JobOption(kind=kind, help="", wire="colour").is_comparable


def test_lists_cannot_be_filtered_by_what_has_no_column() -> None:
    assert not JobOption(kind=LABEL, help="", wire="colour", column="").is_comparable


def test_an_option_may_not_be_called_as_a_field_with_another_rule() -> None:
    option = JobOption(kind=LABEL, help="", wire="reason")
    with pytest.raises(AssertionError, match="a field reason has another rule"):
        rules_with({"reason": REASON}, [option])
    assert rules_with({"reason": LABEL.rule or REASON}, [option]) == {"reason": LABEL.rule}
    flag = JobOption(kind=FLAG, help="", wire="reason")
    with pytest.raises(AssertionError, match="a field reason has another rule"):
        rules_with({"reason": REASON}, [flag])


@pytest.mark.parametrize(
    ("kept", "place", "without"),
    [
        (TaskOptions, SaidIn.TASK, {"trace_id"}),
        (ScheduleOptions, SaidIn.SCHEDULE, set()),
        (Overrides, SaidIn.CALL, set()),
    ],
)
def test_what_is_kept_is_what_may_be_said_there(kept: type[KeptOptions], place: SaidIn, without: set[str]) -> None:
    assert set(kept.__struct_fields__) == {option.wire for option in options_for(place)} - without
