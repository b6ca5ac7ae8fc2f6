"""Runs in processes of their own: programs, and functions with `subprocess=True`."""
