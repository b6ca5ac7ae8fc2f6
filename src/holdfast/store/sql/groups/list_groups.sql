-- Newest first: ids are made in order of time.
SELECT id, name, mode, on_failure, created_at, reopened_at FROM job_groups
WHERE id < :below ORDER BY id DESC LIMIT :limit
