"""Commands about schedules, templates, events, watches and webhooks."""
