-- When the newest sessions that start jobs were there. Of one that has not ended it is known up to its last sign of life.
SELECT started_at, coalesce(stopped_at, last_heartbeat_at) AS until FROM sessions
WHERE kind <> 'worker' ORDER BY id DESC LIMIT :limit
