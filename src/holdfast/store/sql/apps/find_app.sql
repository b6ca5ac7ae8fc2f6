SELECT @part(app_columns)
FROM apps AS a LEFT JOIN sessions AS s ON s.id = a.session_id LEFT JOIN nodes AS n ON n.id = s.node
WHERE a.app_key = :app_key ORDER BY a.instance_index LIMIT 1
