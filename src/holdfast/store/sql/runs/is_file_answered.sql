-- Whether an answer is there; NULL if nobody knows of the question any more.
SELECT is_answered FROM file_requests WHERE id = :id
