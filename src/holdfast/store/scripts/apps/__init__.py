"""Apps: who calls their handlers, and what they hear."""
