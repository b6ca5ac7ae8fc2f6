-- Of several with one name, the newest: ids are made in order of time.
SELECT id, name, mode, on_failure, created_at, reopened_at FROM job_groups WHERE name = :name ORDER BY id DESC LIMIT 1
