-- What is done needs no other try, and what goes on has not had this one yet.
SELECT j.id, j.retry_of, p.state FROM jobs AS j JOIN jobs AS p ON p.id = j.retry_of
WHERE p.state IN ('DONE', 'SUPERSEDED') OR p.finished_at IS NULL
