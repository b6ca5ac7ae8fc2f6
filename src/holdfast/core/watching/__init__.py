"""What a watch goes by: patterns, plans, git."""
