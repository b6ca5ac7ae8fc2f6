"""Watches of folders and repositories, from a change on the disk to a plan."""
