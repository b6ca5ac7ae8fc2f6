"""The commands about workspaces."""
