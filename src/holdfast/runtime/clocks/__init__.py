"""Clocks, and what a step of one means."""
