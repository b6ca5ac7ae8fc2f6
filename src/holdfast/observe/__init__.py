"""Logs, metrics and traces. Usable from every layer but core; knows none of them."""
