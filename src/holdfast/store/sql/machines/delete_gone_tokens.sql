-- What machines had that nobody works on any more, unless somebody set it by hand.
DELETE FROM node_tokens
WHERE set_at < :before AND set_by <> 'hand' AND NOT EXISTS (
    SELECT 1 FROM sessions AS s WHERE s.node = node_tokens.node AND s.status = 'running')
