"""One driver for each contestant; each runs inside the environment of its own library."""
