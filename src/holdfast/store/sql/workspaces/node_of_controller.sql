-- The machine whose workspaces a session looks after. Nothing if it does not, or has ended.
SELECT c.node FROM controllers AS c JOIN sessions AS s ON s.id = c.session_id
WHERE c.session_id = :session_id AND s.status = 'running'
