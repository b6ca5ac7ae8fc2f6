"""Groups of jobs."""
