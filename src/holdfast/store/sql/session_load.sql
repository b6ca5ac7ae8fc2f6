-- Whether a session lives, what it is running, whether a suspect is among that, which must run alone, and what its
-- machine asks for.
SELECT count(j.number) AS running, coalesce(max(j.is_suspect), 0) AS suspects, s.status, s.pulls_at,
  m.holds, m.pull_interval_ms
FROM sessions AS s
LEFT JOIN machines AS m ON m.node = s.node
LEFT JOIN jobs AS j ON j.state = 'RUNNING' AND j.session_id = s.id
WHERE s.id = :session_id
GROUP BY s.id, m.node
