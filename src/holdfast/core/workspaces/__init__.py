"""Workspaces: what was observed of one means its phase, and what is to be done next."""
