"""How properties are tried: no time limit for one example, since the machine may be busy."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("holdfast", deadline=None, print_blob=True)
settings.load_profile("holdfast")
