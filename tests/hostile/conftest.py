"""What strangers meet: the house of the daemons' tests."""

from tests.daemon.conftest import house, side

__all__ = ["house", "side"]
