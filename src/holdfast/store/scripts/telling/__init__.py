"""What a commit tells: who may start something now, and lines for the log."""
