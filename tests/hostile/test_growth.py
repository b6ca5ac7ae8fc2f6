"""Text from outside is read in time that grows with its length, not with the square of it.

What is measured is processor time of this thread alone, at sizes where a square would take a hundred times longer than
the least that counts here. So a busy machine changes nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from itertools import islice

import pytest

from holdfast.core.errors import InvalidInput, InvalidPayload
from holdfast.core.jobs.fingerprint import MOST_READ, pattern_of
from holdfast.core.rules.limits import check_payload
from holdfast.core.values.watch import check_fields
from holdfast.observe.redact import redacted_text
from tests.hostile.patterns import Use, hidden, texts, uses
from tests.strides import every

SIZE = 4_000
LEAST_S = 0.1  # far more than any of these takes at the largest size if it is linear
GROWTH = 8  # linear is 4, a square is 16

# Patterns that only ever see so much of a text.
CUT = {"holdfast.core.jobs.fingerprint": MOST_READ}


def cost(read: Callable[[str], object], text: str) -> float:
    began = time.thread_time()
    read(text)
    return time.thread_time() - began


def grows_too_fast(read: Callable[[str], object], first: str, repeated: str, last: str) -> bool:
    def at(size: int) -> str:
        return first + repeated * (size // len(repeated)) + last

    for _ in range(3):
        longest = cost(read, at(4 * SIZE))
        if longest <= LEAST_S or longest <= GROWTH * cost(read, at(SIZE)):
            return False
    return True


def slow_texts(read: Callable[[str], object], use: Use, step: int, seed: int) -> list[tuple[str, str, str]]:
    for text in islice(texts(use.pattern), seed % step, None, step):
        if grows_too_fast(read, *text):
            return [text]
    return []


def read_payload(text: str) -> None:
    with suppress(InvalidPayload):
        check_payload(("[" * 40 + text).encode("utf-8", "surrogatepass"), "the payload")


def read_template(text: str) -> None:
    with suppress(InvalidInput):
        check_fields("subject", text, "folder")


READERS: dict[str, Callable[[str], object]] = {
    "holdfast.core.rules.limits": read_payload,
    "holdfast.core.values.watch": read_template,
    "holdfast.core.jobs.fingerprint": pattern_of,
    "holdfast.observe.redact": redacted_text,
}


def test_every_pattern_is_a_constant_of_its_module() -> None:
    assert hidden() == []


@every(4)
@pytest.mark.parametrize("use", uses(), ids=lambda use: use.name)
def test_a_pattern_reads_repeats_of_its_own_alphabet_in_linear_time(use: Use, step: int, seed: int) -> None:
    assert slow_texts(lambda text: use.run(text[: CUT.get(use.module)]), use, step, seed) == []


@every(4)
@pytest.mark.parametrize("use", [use for use in uses() if use.module in READERS], ids=lambda use: use.name)
def test_whoever_reads_with_a_pattern_is_linear_too(use: Use, step: int, seed: int) -> None:
    assert slow_texts(READERS[use.module], use, step, seed) == []


@pytest.mark.parametrize("repeated", ['"', '"[', '"\\', '["', '"\n'])
def test_a_string_that_is_never_closed_is_read_once(repeated: str) -> None:
    assert not grows_too_fast(read_payload, '"', repeated, "")
