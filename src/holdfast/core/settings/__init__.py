"""Settings of queues and watches, and the rules of all names."""
