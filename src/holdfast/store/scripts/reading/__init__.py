"""Pages of jobs and their runs."""
