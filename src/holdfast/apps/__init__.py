"""Apps in this process: who takes them, and how their handlers are called."""
