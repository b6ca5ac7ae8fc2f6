"""A token that says nothing is made anew."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.wire.home import Home


@pytest.mark.parametrize("left", ["", " \n"])
def test_an_empty_token_is_made_anew(tmp_path: Path, left: str) -> None:
    home = Home(tmp_path)
    home.token.write_text(left)
    home.create()
    token = home.token.read_text()
    assert len(token) >= 32
    home.create()
    assert home.token.read_text() == token
