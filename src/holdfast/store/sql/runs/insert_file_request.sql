INSERT INTO file_requests (id, node, run_id, what, name, start, most)
VALUES (:id, :node, :run_id, :what, :name, :start, :most)
