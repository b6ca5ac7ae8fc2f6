SELECT app_key, instance_index, wanted, status, session_id FROM apps WHERE app_key @in(:app_keys)
ORDER BY app_key, instance_index
