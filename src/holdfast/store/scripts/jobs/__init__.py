"""Jobs before and after their runs: stored, read, changed, cancelled, retried."""
