"""The loops of a process, each for one kind of work, on an injected clock."""
