"""Transaction scripts: plain functions `(tx, …, now)` that read, ask core, and write. One behaviour per file."""
