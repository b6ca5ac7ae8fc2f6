-- By a session that lives, from one that does not.
INSERT INTO controllers (node, session_id, taken_at)
SELECT s.node, s.id, :now FROM sessions AS s WHERE s.id = :session_id AND s.status = 'running'
ON CONFLICT (node) DO UPDATE SET session_id = excluded.session_id, taken_at = excluded.taken_at
WHERE controllers.session_id <> excluded.session_id
  AND NOT EXISTS (SELECT 1 FROM sessions AS o WHERE o.id = controllers.session_id AND o.status = 'running')
