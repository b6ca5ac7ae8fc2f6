"""Jobs before and after their runs: stored, changed, cancelled, retried."""
