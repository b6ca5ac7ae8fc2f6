"""Queues: their settings, breakers, tenants and reservations."""
