SELECT @part(app_columns)
FROM apps AS a LEFT JOIN sessions AS s ON s.id = a.session_id LEFT JOIN nodes AS n ON n.id = s.node
ORDER BY a.app_key, a.instance_index
