"""Workspaces: make them, look at them, and say what each shall be."""
