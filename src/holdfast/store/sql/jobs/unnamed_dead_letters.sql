-- Those from before there were fingerprints.
SELECT letter.job_id, letter.kind, job.error_code, job.reason
FROM dead_letters AS letter JOIN jobs AS job ON job.id = letter.job_id
WHERE letter.fingerprint = '' AND letter.closed_at IS NULL ORDER BY letter.number LIMIT :limit
