UPDATE file_requests SET is_answered = 1, begins = :begins, ends = :ends, data = :data, problem = :problem
WHERE id = :id AND is_answered = 0
