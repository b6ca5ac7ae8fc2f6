"""The life of a job, from its request to its end."""
