SELECT * FROM listeners
WHERE (CAST(:app_key AS TEXT) IS NULL OR app_key = :app_key)
  AND (CAST(:since AS BIGINT) IS NULL OR last_run_at >= :since)
  AND (retired_at IS NULL OR :retired = 1)
ORDER BY app_key, instance_index, id
