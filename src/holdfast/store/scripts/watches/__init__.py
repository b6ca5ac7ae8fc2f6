"""Watches: changes on the disk that become jobs."""
