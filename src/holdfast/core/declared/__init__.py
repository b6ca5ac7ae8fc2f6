"""Options and settings, each declared once."""
