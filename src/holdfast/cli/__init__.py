"""The command line. It uses the client and the daemon, and of the store only the types of its answers."""
