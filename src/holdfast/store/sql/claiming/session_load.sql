-- Whether a session lives, what it is running, whether a suspect is among that, which must run alone, what its
-- machine asks for, the number of that machine, and the first lane of ready jobs that are tied
-- to it: by the smallest, which every planner takes from their index.
SELECT count(j.number) AS running, coalesce(max(j.is_suspect), 0) AS suspects, s.status, s.pulls_at, s.secret_hash,
  m.holds, m.pull_interval_ms, coalesce(n.number, 0) AS node,
  (SELECT min(t.lane) FROM jobs AS t
   WHERE t.lane >= 32 * n.number AND t.lane < 32 * n.number + 32
     AND t.node > 0 AND t.state = 'QUEUED' AND t.state IN ('SCHEDULED', 'QUEUED')) AS tied
FROM sessions AS s
LEFT JOIN nodes AS n ON n.id = s.node
LEFT JOIN machines AS m ON m.node = s.node
LEFT JOIN jobs AS j ON j.state = 'RUNNING' AND j.session_id = s.id
WHERE s.id = :session_id
GROUP BY s.id, m.node, n.number
