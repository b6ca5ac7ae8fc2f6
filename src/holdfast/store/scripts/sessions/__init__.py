"""Processes that claim jobs: from their opening to their end, or to their recovery."""
