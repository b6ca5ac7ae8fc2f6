-- A session that lives on a machine, or NULL.
SELECT min(id) FROM sessions WHERE node = :node AND status = 'running'
