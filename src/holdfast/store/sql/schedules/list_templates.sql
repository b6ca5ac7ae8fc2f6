-- By name; the archived ones of a name behind the one that is in use.
SELECT * FROM job_templates WHERE archived_at IS NULL OR :archived = 1
ORDER BY name, archived_at IS NOT NULL, id LIMIT :limit
