"""Webhooks and the addresses that they may have."""
