"""Commands about jobs and groups."""
