"""Apps at the prompt."""
