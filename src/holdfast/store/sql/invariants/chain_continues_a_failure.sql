-- What is done needs no other try unless a person wants one, and what goes on has not had this one yet.
SELECT j.id, j.retry_of, p.state FROM jobs AS j JOIN jobs AS p ON p.id = j.retry_of
WHERE (p.state IN ('DONE', 'SUPERSEDED') AND j.retried_from IS NULL) OR p.finished_at IS NULL
