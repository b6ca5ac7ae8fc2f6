-- All that is asked for and not read yet; there are never many.
SELECT id, node, run_id, what, name, start, most, is_answered FROM file_requests
