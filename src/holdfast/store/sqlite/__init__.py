"""The SQLite engine: one writer thread with group commit, readers on snapshots, several processes on one file."""
