-- Not only jobs and webhooks wait for events.

-- Empty: jobs. Otherwise the id of a webhook.
ALTER TABLE event_patterns RENAME COLUMN webhook_id TO owner;
