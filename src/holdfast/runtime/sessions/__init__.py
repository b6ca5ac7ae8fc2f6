"""Sessions of processes: their life, their end, and who judges it."""
