DELETE FROM file_requests WHERE id = :id
