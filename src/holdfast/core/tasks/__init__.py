"""Tasks, commands, and the names that are reserved."""
