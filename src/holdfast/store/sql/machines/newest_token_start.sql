-- When the newest run with tokens on a machine began.
SELECT max(j.started_at) FROM jobs AS j JOIN sessions AS s ON s.id = j.session_id
WHERE j.state = 'RUNNING' AND (j.lane & 31) > 3 AND s.node = :node
