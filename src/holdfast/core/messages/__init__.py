"""The requests and answers of scripts, by subject. Every layer may import them without the store."""
