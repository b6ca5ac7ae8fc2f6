"""The command line. It knows the client and the daemon, and of the store the shapes of its answers."""
