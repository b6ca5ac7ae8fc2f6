-- The machines on which somebody works.
SELECT DISTINCT n.number FROM sessions AS s JOIN nodes AS n ON n.id = s.node WHERE s.status = 'running'
