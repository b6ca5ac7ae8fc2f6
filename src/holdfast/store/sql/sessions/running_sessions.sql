SELECT @part(session_columns)
FROM sessions AS s LEFT JOIN nodes AS n ON n.id = s.node WHERE s.status = 'running'
