"""Commands about the daemon, its workers and its users."""
