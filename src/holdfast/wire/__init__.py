"""The calls between a program and the daemon: one table for the server, the SDK and the reference."""
