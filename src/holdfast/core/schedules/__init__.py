"""Cron, and what a schedule is."""
