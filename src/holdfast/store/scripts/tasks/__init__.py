"""Tasks: what workers offer and declare."""
