"""The command line. It knows the client and the daemon, not the store."""
