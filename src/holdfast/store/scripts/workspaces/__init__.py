"""Workspaces: what people want of them, what was seen of them, and what is done with them."""
