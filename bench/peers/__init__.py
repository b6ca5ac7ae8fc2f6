"""Holdfast beside its peers, in one run on one machine: `python -m bench peers`."""
