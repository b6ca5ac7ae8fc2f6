-- Failures of long ago, in queues that nobody may ever use again.
DELETE FROM queue_breakers WHERE opened_at IS NULL AND failed_at < :before
