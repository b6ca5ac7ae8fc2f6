"""Logs, metrics and traces. Every layer but core may use them. They import no layer."""
