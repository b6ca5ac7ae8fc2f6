-- The runs of a machine take no more tokens than it has. Those that began before it was told so are not measured by it.
SELECT t.node, t.cpu, sum(j.cpu) AS cpu_in_use, t.gpu, sum(j.gpu) AS gpu_in_use, t.io, sum(j.io) AS io_in_use
FROM jobs AS j JOIN sessions AS s ON s.id = j.session_id JOIN node_tokens AS t ON t.node = s.node
WHERE j.state = 'RUNNING' AND (j.lane & 31) > 3 AND j.started_at >= t.set_at
GROUP BY t.node, t.cpu, t.gpu, t.io
HAVING sum(j.cpu) > t.cpu OR sum(j.gpu) > t.gpu OR sum(j.io) > t.io
