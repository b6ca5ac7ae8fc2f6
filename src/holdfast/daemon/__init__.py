"""The daemon: its home folder, its settings, its loops and its doors, put together."""
