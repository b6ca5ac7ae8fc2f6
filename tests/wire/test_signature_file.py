"""What is written down about scripts is what they are."""

from __future__ import annotations

from typing import get_type_hints

import pytest

from holdfast.store import script_names
from holdfast.store.script_names import Script, full_name, function_of
from holdfast.store.scripts.reading.read_jobs import find_job
from holdfast.wire.calls import CALLS, ApiCall, call_of
from tests.wire.signature_file import FILE, text


def test_the_file_of_signatures_is_current() -> None:
    assert FILE.read_text() == text(), "run python -m tests.wire.signature_file"


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.name)
def test_the_arguments_are_known_by_the_names_that_the_script_gives_them(call: ApiCall) -> None:
    assert call._known_names == call._names


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.name)
def test_an_answer_is_read_as_what_the_script_returns(call: ApiCall) -> None:
    assert call.decoder.type == get_type_hints(call.function)["return"]


def test_a_script_has_its_call_whether_it_is_imported_or_named() -> None:
    named = script_names.read_jobs.find_job
    assert isinstance(named, Script)
    assert full_name(named) == full_name(find_job) == "reading.read_jobs.find_job"
    assert call_of(named) is call_of(find_job) is not None
    assert function_of(named) is function_of(find_job) is find_job


@pytest.mark.parametrize("name", ["nothing_such", "jobs", "__path__"])
def test_a_module_that_is_not_there_is_not_named(name: str) -> None:
    with pytest.raises(AttributeError, match=name):
        getattr(script_names, name)
