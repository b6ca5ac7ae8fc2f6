"""A token that says nothing opens no door."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from holdfast.api.doors import TcpDoor
from holdfast.core.errors import InvalidInput
from holdfast.wire.home import Home


async def nowhere(scope: Any, receive: Any, send: Any) -> None:
    raise AssertionError("somebody came in")


@pytest.mark.parametrize("left", ["", " \n"])
def test_an_empty_token_is_made_anew(tmp_path: Path, left: str) -> None:
    home = Home(tmp_path)
    home.token.write_text(left)
    home.create()
    token = home.token.read_text()
    assert len(token) >= 32
    home.create()
    assert home.token.read_text() == token


def test_no_door_opens_with_an_empty_token() -> None:
    with pytest.raises(InvalidInput, match="anybody could come in"):
        TcpDoor(nowhere, "\n", frozenset({"localhost"}))


def test_nobody_comes_in_with_a_word_that_is_no_token() -> None:
    said: list[Any] = []

    async def send(message: Any) -> None:
        said.append(message)

    async def knock(word: bytes) -> None:
        headers = [(b"host", b"localhost"), (b"authorization", word)]
        await TcpDoor(nowhere, "secret", frozenset({"localhost"}))({"headers": headers}, nowhere, send)  # type: ignore[arg-type]

    for word in (b"", b"bearer", b"Bearer ", b"Bearer secre", b"Basic secret", b"secret"):
        asyncio.run(knock(word))
        assert said[0]["status"] == 401
        said.clear()
