"""What workspaces run in, and what their homes are kept in. Each kind is behind the protocols of `protocols`."""
