"""What travels between a program and the daemon: one table of calls for the server, the SDK and the reference."""
