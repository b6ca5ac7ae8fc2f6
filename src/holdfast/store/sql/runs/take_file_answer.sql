DELETE FROM file_requests WHERE id = :id RETURNING begins, ends, data, problem
