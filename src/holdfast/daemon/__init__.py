"""The daemon: its home folder, its settings, its loops and its servers, put together."""
