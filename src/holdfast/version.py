"""Which version this is."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

try:
    VERSION = version("holdfast")
except PackageNotFoundError:
    VERSION = "0"
