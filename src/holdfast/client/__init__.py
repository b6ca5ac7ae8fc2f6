"""The Python surface: `Holdfast`, tasks, handles; embedded in the caller's process."""
