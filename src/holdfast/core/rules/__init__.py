"""Rules for values, and their words: limits, units, texts, numbers."""
