"""Machines, the sessions and workers on them, and their tokens."""
