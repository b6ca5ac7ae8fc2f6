"""Workspaces: programs with homes, which are looked after on the machine that they are on."""
