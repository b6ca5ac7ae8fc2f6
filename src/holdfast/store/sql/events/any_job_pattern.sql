-- Whether anybody waits for what jobs do: their events begin with `job.`.
SELECT 1 FROM event_patterns
WHERE pattern IN ('*', 'j*', 'jo*', 'job*') OR (pattern >= 'job.' AND pattern < 'job/')
LIMIT 1
