"""Loops over every place where something can fail: `make test` takes some of them, `make test-long` all."""

from __future__ import annotations

import os
import random

import pytest

SEED = "HOLDFAST_TEST_SEED"


def chosen_seed() -> int:
    """The one that is to be repeated; in CI always the same, so that what fails there is the change's doing."""
    usual = 1 if "CI" in os.environ else random.SystemRandom().randrange(2**32)
    return int(os.environ.get(SEED, usual))


def every(step: int) -> pytest.MarkDecorator:
    """For a test of `step` and `seed`: it takes each n-th place, and all of them as a long test."""
    return pytest.mark.parametrize("step", [step, pytest.param(1, marks=pytest.mark.long)], ids=lambda n: f"every {n}")
