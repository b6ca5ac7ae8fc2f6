"""Options become columns, and columns become options."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import defstruct

from holdfast.core.declared.options import OPTIONS
from holdfast.store.option_columns import ANSWERED, OptionReader, stored_value

COLUMNS = [column for option in ANSWERED for column in option.columns]


def test_a_row_from_before_its_columns_has_what_is_usual() -> None:
    row: Any = defstruct("OldRow", [(column, Any, None) for column in COLUMNS])
    assert OptionReader(ANSWERED).read(row()) == {option.wire: option.default for option in ANSWERED}


@pytest.mark.parametrize(
    ("name", "sent", "stored"), [("execution", "subprocess", "SUBPROCESS"), ("when_idle", True, 1)]
)
def test_a_filter_compares_what_the_column_holds(name: str, sent: Any, stored: Any) -> None:
    assert stored_value(OPTIONS[name], sent) == stored
    assert stored_value(OPTIONS[name], None) is None
