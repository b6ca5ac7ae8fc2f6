-- Sessions that may pull again.
UPDATE sessions SET pulls_at = NULL WHERE pulls_at <= :now RETURNING id
