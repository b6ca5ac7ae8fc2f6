"""Events: stored, and told to the jobs and webhooks that wait for them."""
