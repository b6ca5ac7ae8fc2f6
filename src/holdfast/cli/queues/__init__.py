"""Commands about queues, tenants and tokens."""
