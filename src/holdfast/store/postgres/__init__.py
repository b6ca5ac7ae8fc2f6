"""The PostgreSQL engine: the same scripts, each in its own transaction on a pool of connections."""
