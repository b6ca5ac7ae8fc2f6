SELECT s.node AS id, coalesce(n.name, s.node) AS name
FROM sessions AS s LEFT JOIN nodes AS n ON n.id = s.node WHERE s.id = :id
