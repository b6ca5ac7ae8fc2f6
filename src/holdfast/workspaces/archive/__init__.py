"""Archives of homes: how a home becomes a stream and a home again, and where the streams are kept."""
