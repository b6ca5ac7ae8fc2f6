"""Which jobs start next, and why a job waits."""
