"""Runs: what workers report of them, and what becomes of their jobs."""
