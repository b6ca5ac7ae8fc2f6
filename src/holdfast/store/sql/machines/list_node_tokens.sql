-- What every machine has, and what its runs use of it.
SELECT coalesce(n.name, t.node) AS node, t.node AS node_id, t.cpu, t.gpu, t.io, t.timeout_ms, t.set_by, t.set_at, coalesce(u.cpu, 0) AS used_cpu,
  coalesce(u.gpu, 0) AS used_gpu, coalesce(u.io, 0) AS used_io, coalesce(u.runs, 0) AS runs
FROM node_tokens AS t LEFT JOIN nodes AS n ON n.id = t.node LEFT JOIN (
  SELECT s.node, CAST(sum(j.cpu) AS BIGINT) AS cpu, CAST(sum(j.gpu) AS BIGINT) AS gpu, CAST(sum(j.io) AS BIGINT) AS io,
    count(*) AS runs
  FROM jobs AS j JOIN sessions AS s ON s.id = j.session_id
  WHERE j.state = 'RUNNING' AND (j.lane & 31) > 3 GROUP BY s.node) AS u ON u.node = t.node
ORDER BY 1
