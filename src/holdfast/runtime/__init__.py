"""The loops that move things forward, each one kind of thing, on an injected clock."""
