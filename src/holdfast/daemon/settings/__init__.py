"""What can be set for a daemon, and how it is read from a file."""
