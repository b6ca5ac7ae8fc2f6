"""The maintenance of a database, and its state."""
