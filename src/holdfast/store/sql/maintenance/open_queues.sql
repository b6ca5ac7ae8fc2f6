-- Queues whose window has room again.
UPDATE queues SET opens_at = NULL WHERE opens_at <= :now RETURNING name
