"""Machines: their names, tokens, pressure and clocks."""
