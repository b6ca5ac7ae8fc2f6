"""Apps: what listeners and timers do."""
