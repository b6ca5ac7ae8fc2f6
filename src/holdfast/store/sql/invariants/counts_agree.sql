SELECT queue, state, sum(listed) AS listed, sum(counted) AS counted FROM (
  SELECT queue, state, jobs AS listed, 0 AS counted FROM queue_counts
  UNION ALL
  SELECT queue, state, 0, count(*) FROM jobs GROUP BY queue, state
) AS both_sides
GROUP BY queue, state HAVING sum(listed) <> sum(counted)
