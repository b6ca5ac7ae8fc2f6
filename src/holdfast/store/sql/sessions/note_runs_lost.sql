-- Counted once, at the first look, so that a recovery which is itself interrupted judges the same way.
UPDATE sessions
SET runs_lost = (SELECT count(*) FROM jobs WHERE state = 'RUNNING' AND session_id = sessions.id)
WHERE id = :id AND status = 'running' AND runs_lost IS NULL
