-- The tokens of all that runs on a machine; those of one session apart, and those of all others.
SELECT CASE WHEN j.session_id = :session_id THEN 1 ELSE 0 END AS is_own, CAST(sum(j.cpu) AS BIGINT) AS cpu,
  CAST(sum(j.gpu) AS BIGINT) AS gpu, CAST(sum(j.io) AS BIGINT) AS io
FROM jobs AS j JOIN sessions AS s ON s.id = j.session_id
WHERE j.state = 'RUNNING' AND (j.lane & 31) > 3 AND s.node = :node
GROUP BY 1
