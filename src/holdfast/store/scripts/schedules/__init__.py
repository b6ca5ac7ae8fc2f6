"""Schedules and templates: kept by name, and made into jobs by the clock."""
