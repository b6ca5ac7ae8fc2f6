"""Decisions: pure functions and plain data. No clock, no randomness, no I/O."""
